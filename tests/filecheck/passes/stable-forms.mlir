// RUN: gradc-opt %s -p stable-forms | filecheck %s

// The logarithm of a Softmax overflows to -inf where LogSoftmax does not.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = onnx.Softmax %x {axis = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = onnx.Log %s : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %y = onnx.LogSoftmax %x {axis = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
