// RUN: gradc-opt %s -p 'fast-masks{target=cpu opset=18}' | filecheck %s

func.func @positive(%x: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %above = onnx.Greater %x, %zero : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %mask = onnx.Cast %above {to = f32, gradc.mask} : (tensor<2x3xi1>) -> tensor<2x3xf32>
  %dx = onnx.Mul %g, %mask : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %dx : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @positive(
// CHECK-NEXT: %zero = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %mask = onnx.HardSigmoid %x {alpha = 3.400000e+38 : f32, beta = 0.000000e+00 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %dx = onnx.Mul %g, %mask : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %dx : tensor<2x3xf32>

func.func @own_comparison(%x: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %above = onnx.Greater %x, %zero : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %mask = onnx.Cast %above {to = f32} : (tensor<2x3xi1>) -> tensor<2x3xf32>
  %dx = onnx.Mul %g, %mask : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %dx : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @own_comparison(
// CHECK-NEXT: %zero = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %above = onnx.Greater %x, %zero : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %mask = onnx.Cast %above {to = f32} : (tensor<2x3xi1>) -> tensor<2x3xf32>
// CHECK-NEXT: %dx = onnx.Mul %g, %mask : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %dx : tensor<2x3xf32>
