// RUN: gradc-opt %s -p "per-sample{inputs=x size=N axes=0}" | filecheck %s

// The product of one sample and the weights becomes that of all samples.
func.func @main(%x: tensor<1x4xf32>, %w: tensor<4x5xf32>) -> tensor<1x5xf32> {
  %y = onnx.MatMul %x, %w : (tensor<1x4xf32>, tensor<4x5xf32>) -> tensor<1x5xf32>
  func.return %y : tensor<1x5xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %0 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %x_1 = onnx.Unsqueeze %x, %0 : (tensor<?x4xf32, ["N", ""]>, tensor<1xi64>) -> tensor<?x1x4xf32, ["N", "", ""]>
// CHECK-NEXT: %1 = onnx.Shape %x_1 : (tensor<?x1x4xf32, ["N", "", ""]>) -> tensor<3xi64>
// CHECK-NEXT: %2 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %3 = onnx.Gather %1, %2 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y = onnx.MatMul %x_1, %w : (tensor<?x1x4xf32, ["N", "", ""]>, tensor<4x5xf32>) -> tensor<?x1x5xf32, ["N", "", ""]>
// CHECK-NEXT: func.return %y : tensor<?x1x5xf32, ["N", "", ""]>
