// RUN: gradc-opt %s -p 'keep-nchwc{target=cpu opset=18}' | filecheck %s

func.func @between(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %w = onnx.Constant dense<0.5> : tensor<32x32x3x3xf32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %a = onnx.Conv %x, %w {pads = array<i64: 1, 1, 1, 1>} : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x8x8xf32>
  %s = onnx.Sigmoid %a : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %t = onnx.Sub %one, %s : (tensor<f32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %r = onnx.Mul %t, %a : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %y = onnx.Conv %r, %w {pads = array<i64: 1, 1, 1, 1>} : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x8x8xf32>
  func.return %y : tensor<1x32x8x8xf32>
}
// CHECK-LABEL: func.func @between(
// CHECK-NEXT: %w = onnx.Constant dense<5.000000e-01> : tensor<32x32x3x3xf32>
// CHECK-NEXT: %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %a = onnx.Conv %x, %w {pads = [1, 1, 1, 1]} : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x8x8xf32>
// CHECK-NEXT: %s = onnx.Sigmoid %a : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
// CHECK-NEXT: %t = onnx.Constant dense<1.000000e+00> : tensor<32xf32>
// CHECK-NEXT: %t_1 = onnx.Constant dense<-1.000000e+00> : tensor<32x1x1x1xf32>
// CHECK-NEXT: %t_2 = onnx.Conv %s, %t_1, %t {group = 32} : (tensor<1x32x8x8xf32>, tensor<32x1x1x1xf32>, tensor<32xf32>) -> tensor<1x32x8x8xf32>
// CHECK-NEXT: %r = onnx.Mul %t_2, %a : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
// CHECK-NEXT: %y = onnx.Conv %r, %w {pads = [1, 1, 1, 1]} : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x8x8xf32>
// CHECK-NEXT: func.return %y : tensor<1x32x8x8xf32>

func.func @unknown(%x: tensor<?x32x8x8xf32>) -> tensor<?x32x8x8xf32> {
  %w = onnx.Constant dense<0.5> : tensor<32x32x3x3xf32>
  %a = onnx.Conv %x, %w {pads = array<i64: 1, 1, 1, 1>} : (tensor<?x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<?x32x8x8xf32>
  %r = onnx.Neg %a : (tensor<?x32x8x8xf32>) -> tensor<?x32x8x8xf32>
  %y = onnx.Conv %r, %w {pads = array<i64: 1, 1, 1, 1>} : (tensor<?x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<?x32x8x8xf32>
  func.return %y : tensor<?x32x8x8xf32>
}
// CHECK-LABEL: func.func @unknown(
// CHECK-NEXT: %w = onnx.Constant dense<5.000000e-01> : tensor<32x32x3x3xf32>
// CHECK-NEXT: %a = onnx.Conv %x, %w {pads = [1, 1, 1, 1]} : (tensor<?x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<?x32x8x8xf32>
// CHECK-NEXT: %r = onnx.Neg %a : (tensor<?x32x8x8xf32>) -> tensor<?x32x8x8xf32>
// CHECK-NEXT: %y = onnx.Conv %r, %w {pads = [1, 1, 1, 1]} : (tensor<?x32x8x8xf32>, tensor<32x32x3x3xf32>) -> tensor<?x32x8x8xf32>
// CHECK-NEXT: func.return %y : tensor<?x32x8x8xf32>
