// RUN: gradc-opt %s -p sink-negations | filecheck %s

// A sum of negated products is subtracted.
func.func @main(%x: tensor<2x3xf32>, %z: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %axis = onnx.Constant dense<1> : tensor<1xi64>
  %n = onnx.Neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %p = onnx.Mul %n, %z : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = onnx.ReduceSum %p, %axis : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %y = onnx.Add %z, %s : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %axis = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %p = onnx.Mul %x, %z : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %s = onnx.ReduceSum %p, %axis : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1xf32>
// CHECK-NEXT: %y = onnx.Sub %z, %s : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
