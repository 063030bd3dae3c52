// RUN: gradc-opt %s -p "pin-values,guard-masked-branches" | filecheck %s

// The derivative of Sqrt at 0 is infinite, and 0 times it is not a number: what is not chosen is replaced.
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %c = onnx.Greater %x, %zero : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  %s = onnx.Sqrt %x : (tensor<2xf32>) -> tensor<2xf32>
  %y = onnx.Where %c, %s, %zero : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %zero = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %c = onnx.Greater %x, %zero : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
// CHECK-NEXT: %0 = onnx.Constant dense<7.500000e-01> : tensor<f32>
// CHECK-NEXT: %x_1 = onnx.Where %c, %x, %0 : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: %s = onnx.Sqrt %x_1 : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %y = onnx.Where %c, %s, %zero : (tensor<2xi1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y, %x : tensor<2xf32>, tensor<2xf32>
