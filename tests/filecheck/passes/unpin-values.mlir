// RUN: gradc-opt %s -p "pin-values{wrt=w},vjp{cotangents=true},unpin-values" | filecheck %s

// w is a constant again: only weights-as-inputs makes it an input.
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %h = onnx.Mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = onnx.Exp %h : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %w = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %h = onnx.Mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %y = onnx.Exp %h : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %1 = onnx.Mul %0, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %2 = onnx.Mul %1, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %3 = onnx.Mul %1, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %3 : tensor<2xf32>
