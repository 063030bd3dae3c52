// RUN: gradc-opt %s -p fold-affine,simplify | filecheck %s

func.func @batch_norm(%x: tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %w = onnx.Constant dense<1.0> : tensor<3x2x1x1xf32>
  %scale = onnx.Constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
  %bias = onnx.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %mean = onnx.Constant dense<[0.5, 0.0, 1.0]> : tensor<3xf32>
  %var = onnx.Constant dense<1.0> : tensor<3xf32>
  %c = onnx.Conv %x, %w : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %y, %m, %v = onnx.BatchNormalization %c, %scale, %bias, %mean, %var {epsilon = 0.0 : f32} : (tensor<1x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %y : tensor<1x3x4x4xf32>
}
// CHECK-LABEL: func.func @batch_norm(
// CHECK-NEXT: %0 = onnx.Constant dense<{{\[\[}}{{\[\[}}2.000000e+00]], {{\[\[}}2.000000e+00]]], {{\[\[}}[3.000000e+00]], {{\[\[}}3.000000e+00]]], {{\[\[}}[4.000000e+00]], {{\[\[}}4.000000e+00]]]]> : tensor<3x2x1x1xf32>
// CHECK-NEXT: %1 = onnx.Constant dense<[0.000000e+00, 2.000000e+00, -1.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %y = onnx.Conv %x, %0, %1 : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
// CHECK-NEXT: func.return %y : tensor<1x3x4x4xf32>

func.func @layer_norm(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %w = onnx.Constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %scale = onnx.Constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
  %bias = onnx.Constant dense<[1.0, 0.0, -1.0]> : tensor<3xf32>
  %n, %m, %d = onnx.LayerNormalization %x, %scale, %bias : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %h = onnx.MatMul %n, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %y = onnx.Add %h, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
// CHECK-LABEL: func.func @layer_norm(
// CHECK-NEXT: %0 = onnx.Constant dense<1.000000e+00> : tensor<3xf32>
// CHECK-NEXT: %n, %m, %d = onnx.LayerNormalization %x, %0 {gradc.centred = unit} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
// CHECK-NEXT: %1 = onnx.Constant dense<{{\[\[}}-8.33333302, -9.33333302], [-1.33333302, -1.33333302], [9.66666698, 10.666667]]> : tensor<3x2xf32>
// CHECK-NEXT: %h = onnx.MatMul %n, %1 : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %2 = onnx.Constant dense<[-3.000000e+00, -2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %y = onnx.Add %h, %2 : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return %y : tensor<2x2xf32>

func.func @gelu(%x: tensor<2x1xf32>) -> tensor<2x1xf32> {
  %w1 = onnx.Constant dense<1.0> : tensor<1x1xf32>
  %w2 = onnx.Constant dense<2.0> : tensor<1x1xf32>
  %quarter = onnx.Constant dense<0.25> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %h = onnx.MatMul %x, %w1 : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %s = onnx.Mul %h, %quarter : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %e = onnx.Erf %s : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %g = onnx.Mul %h, %e : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %a = onnx.Mul %g, %half : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %y = onnx.MatMul %a, %w2 : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}
// CHECK-LABEL: func.func @gelu(
// CHECK-NEXT: %0 = onnx.Constant dense<2.500000e-01> : tensor<1x1xf32>
// CHECK-NEXT: %s = onnx.MatMul %x, %0 : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %e = onnx.Erf %s : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %g = onnx.Mul %s, %e : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %1 = onnx.Constant dense<4.000000e+00> : tensor<1x1xf32>
// CHECK-NEXT: %y = onnx.MatMul %g, %1 : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: func.return %y : tensor<2x1xf32>

func.func @read_twice(%x: tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<1x1xf32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %h = onnx.MatMul %x, %w : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %y = onnx.Mul %h, %half : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  func.return %h, %y : tensor<2x1xf32>, tensor<2x1xf32>
}
// CHECK-LABEL: func.func @read_twice(
// CHECK-NEXT: %w = onnx.Constant dense<1.000000e+00> : tensor<1x1xf32>
// CHECK-NEXT: %half = onnx.Constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %h = onnx.MatMul %x, %w : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %y = onnx.Mul %h, %half : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
// CHECK-NEXT: func.return %h, %y : tensor<2x1xf32>, tensor<2x1xf32>

func.func @relu6(%x: tensor<1x2x4x4xf32>) -> tensor<1x1xf32> {
  %w = onnx.Constant dense<3.0> : tensor<3x2x1x1xf32>
  %v = onnx.Constant dense<1.0> : tensor<3x1xf32>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %six = onnx.Constant dense<6.0> : tensor<f32>
  %c = onnx.Conv %x, %w : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  %b = onnx.Clip %c, %zero, %six : (tensor<1x3x4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<1x3x4x4xf32>
  %p = onnx.GlobalAveragePool %b : (tensor<1x3x4x4xf32>) -> tensor<1x3x1x1xf32>
  %f = onnx.Flatten %p {axis = 1 : i64} : (tensor<1x3x1x1xf32>) -> tensor<1x3xf32>
  %y = onnx.MatMul %f, %v : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<1x1xf32>
  func.return %y : tensor<1x1xf32>
}
// CHECK-LABEL: func.func @relu6(
// CHECK-NEXT: %zero = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = onnx.Constant dense<5.000000e-01> : tensor<3x2x1x1xf32>
// CHECK-NEXT: %c = onnx.Conv %x, %0 : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
// CHECK-NEXT: %1 = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %b = onnx.Clip %c, %zero, %1 : (tensor<1x3x4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<1x3x4x4xf32>
// CHECK-NEXT: %p = onnx.GlobalAveragePool %b : (tensor<1x3x4x4xf32>) -> tensor<1x3x1x1xf32>
// CHECK-NEXT: %f = onnx.Flatten %p {axis = 1} : (tensor<1x3x1x1xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %2 = onnx.Constant dense<6.000000e+00> : tensor<3x1xf32>
// CHECK-NEXT: %y = onnx.MatMul %f, %2 : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<1x1xf32>
// CHECK-NEXT: func.return %y : tensor<1x1xf32>
