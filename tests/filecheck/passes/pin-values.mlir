// RUN: gradc-opt %s -p "pin-values{of=y,t wrt=w,h,x}" | filecheck %s

// The constant w is an argument until unpin-values, h is a result, so that no pass folds or bypasses them.
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %h = onnx.Mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %t = onnx.Tanh %h : (tensor<2xf32>) -> tensor<2xf32>
  %y = onnx.Exp %t : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %h = onnx.Mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %t = onnx.Tanh %h : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %y = onnx.Exp %t : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y, %t, %w, %h, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
