// RUN: gradc-opt %s -p qdq-to-float,simplify | filecheck %s

// A DequantizeLinear moves ahead of what only moves codes.
func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %scale = onnx.Constant dense<0.5> : tensor<f32>
  %zero = onnx.Constant dense<0> : tensor<i8>
  %q = onnx.QuantizeLinear %x, %scale, %zero : (tensor<2x3xf32>, tensor<f32>, tensor<i8>) -> tensor<2x3xi8>
  %t = onnx.Transpose %q {perm = [1, 0]} : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %y = onnx.DequantizeLinear %t, %scale, %zero : (tensor<3x2xi8>, tensor<f32>, tensor<i8>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %scale = onnx.Constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %zero = onnx.Constant dense<0> : tensor<i8>
// CHECK-NEXT: %q = onnx.QuantizeLinear %x, %scale, %zero : (tensor<2x3xf32>, tensor<f32>, tensor<i8>) -> tensor<2x3xi8>
// CHECK-NEXT: %y = onnx.DequantizeLinear %q, %scale, %zero : (tensor<2x3xi8>, tensor<f32>, tensor<i8>) -> tensor<2x3xf32>
// CHECK-NEXT: %y_1 = onnx.Transpose %y {perm = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return %y_1 : tensor<3x2xf32>
