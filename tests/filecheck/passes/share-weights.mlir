// RUN: gradc-opt %s -p 'share-weights{target=cpu opset=18}' | filecheck %s

func.func @matrix(%x: tensor<2x128xf32>) -> tensor<2x128xf32> {
  %w = onnx.Constant dense<0.5> : tensor<128x300xf32>
  %y = onnx.MatMul %x, %w : (tensor<2x128xf32>, tensor<128x300xf32>) -> tensor<2x300xf32>
  %turned = onnx.Constant dense<0.5> : tensor<300x128xf32>
  %z = onnx.MatMul %y, %turned : (tensor<2x300xf32>, tensor<300x128xf32>) -> tensor<2x128xf32>
  func.return %z : tensor<2x128xf32>
}
// CHECK-LABEL: func.func @matrix(
// CHECK-NEXT: %w = onnx.Constant dense<5.000000e-01> : tensor<128x300xf32>
// CHECK-NEXT: %y = onnx.MatMul %x, %w : (tensor<2x128xf32>, tensor<128x300xf32>) -> tensor<2x300xf32>
// CHECK-NEXT: %turned = onnx.Transpose %w {perm = [1, 0]} : (tensor<128x300xf32>) -> tensor<300x128xf32>
// CHECK-NEXT: %z = onnx.MatMul %y, %turned : (tensor<2x300xf32>, tensor<300x128xf32>) -> tensor<2x128xf32>
// CHECK-NEXT: func.return %z : tensor<2x128xf32>

func.func @small(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = onnx.Constant dense<0.5> : tensor<4x3xf32>
  %y = onnx.MatMul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %turned = onnx.Constant dense<0.5> : tensor<3x4xf32>
  %z = onnx.MatMul %y, %turned : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %z : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @small(
// CHECK-NEXT: %w = onnx.Constant dense<5.000000e-01> : tensor<4x3xf32>
// CHECK-NEXT: %y = onnx.MatMul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %turned = onnx.Constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK-NEXT: %z = onnx.MatMul %y, %turned : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %z : tensor<2x4xf32>
