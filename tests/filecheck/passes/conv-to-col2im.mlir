// RUN: gradc-opt %s -p conv-to-col2im,simplify | filecheck %s
// RUN: gradc-opt %s -p 'conv-to-col2im{target=cuda},simplify' | filecheck %s --check-prefix=CUDA
// RUN: gradc-opt %s -p 'conv-to-col2im{opset=17},simplify' | filecheck %s --check-prefix=CUDA

// Columns (C K, Y) = (3 * 6, 9) by one product; there is no Col2Im on cuda, nor before opset 18.
func.func @plain(%dy: tensor<2x4x3x3xf32>, %w: tensor<4x3x2x3xf32>) -> tensor<2x3x6x4xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 1], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<2x4x3x3xf32>, tensor<4x3x2x3xf32>) -> tensor<2x3x6x4xf32>
  func.return %dx : tensor<2x3x6x4xf32>
}
// CUDA-LABEL: func.func @plain(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 1], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<2x4x3x3xf32>, tensor<4x3x2x3xf32>) -> tensor<2x3x6x4xf32>
// CUDA-NEXT: func.return %dx : tensor<2x3x6x4xf32>
// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[1, 4, 18]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-col2im"} : (tensor<4x3x2x3xf32>, tensor<3xi64>) -> tensor<1x4x18xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-col2im"} : (tensor<1x4x18xf32>) -> tensor<1x18x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[2, 1, 4, 9]> : tensor<4xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dy, %dx_3 {gradc.strategy = "conv-to-col2im"} : (tensor<2x4x3x3xf32>, tensor<4xi64>) -> tensor<2x1x4x9xf32>
// CHECK-NEXT: %dx_5 = onnx.MatMul %dx_2, %dx_4 {gradc.strategy = "conv-to-col2im"} : (tensor<1x18x4xf32>, tensor<2x1x4x9xf32>) -> tensor<2x1x18x9xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[2, 18, 9]> : tensor<3xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_5, %dx_6 {gradc.strategy = "conv-to-col2im"} : (tensor<2x1x18x9xf32>, tensor<3xi64>) -> tensor<2x18x9xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[6, 4]> : tensor<2xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_10 = onnx.Col2Im %dx_7, %dx_8, %dx_9 {dilations = [1, 1], pads = [0, 0, 0, 1], strides = [2, 1], gradc.strategy = "conv-to-col2im"} : (tensor<2x18x9xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3x6x4xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<2x3x6x4xf32>

// A product per group: (2, C K, O) times (2, O, Y).
func.func @grouped(%dy: tensor<1x4x5x1xf32>, %w: tensor<4x3x2x1xf32>) -> tensor<1x6x6x1xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 2, residue = [0, 0], layout = "NCX"} : (tensor<1x4x5x1xf32>, tensor<4x3x2x1xf32>) -> tensor<1x6x6x1xf32>
  func.return %dx : tensor<1x6x6x1xf32>
}
// CUDA-LABEL: func.func @grouped(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 2, residue = [0, 0], layout = "NCX"} : (tensor<1x4x5x1xf32>, tensor<4x3x2x1xf32>) -> tensor<1x6x6x1xf32>
// CUDA-NEXT: func.return %dx : tensor<1x6x6x1xf32>
// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[2, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-col2im"} : (tensor<4x3x2x1xf32>, tensor<3xi64>) -> tensor<2x2x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-col2im"} : (tensor<2x2x6xf32>) -> tensor<2x6x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[1, 2, 2, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dy, %dx_3 {gradc.strategy = "conv-to-col2im"} : (tensor<1x4x5x1xf32>, tensor<4xi64>) -> tensor<1x2x2x5xf32>
// CHECK-NEXT: %dx_5 = onnx.MatMul %dx_2, %dx_4 {gradc.strategy = "conv-to-col2im"} : (tensor<2x6x2xf32>, tensor<1x2x2x5xf32>) -> tensor<1x2x6x5xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[1, 12, 5]> : tensor<3xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_5, %dx_6 {gradc.strategy = "conv-to-col2im"} : (tensor<1x2x6x5xf32>, tensor<3xi64>) -> tensor<1x12x5xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[6, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-col2im"} dense<[2, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_10 = onnx.Col2Im %dx_7, %dx_8, %dx_9 {dilations = [1, 1], pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-col2im"} : (tensor<1x12x5xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x6x6x1xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<1x6x6x1xf32>

// Refused: runtimes compute Col2Im correctly on two axes only.
func.func @dilated(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x8xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [3], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x2xf32>) -> tensor<1x3x8xf32>
  func.return %dx : tensor<1x3x8xf32>
}
// CUDA-LABEL: func.func @dilated(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [3], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x2xf32>) -> tensor<1x3x8xf32>
// CUDA-NEXT: func.return %dx : tensor<1x3x8xf32>
// CHECK-LABEL: func.func @dilated(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [3], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x2xf32>) -> tensor<1x3x8xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x8xf32>

// Refused: an unknown batch may be empty.
func.func @unknown_batch(%dy: tensor<?x2x5x1xf32>, %w: tensor<2x3x3x1xf32>) -> tensor<?x3x7x1xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<?x2x5x1xf32>, tensor<2x3x3x1xf32>) -> tensor<?x3x7x1xf32>
  func.return %dx : tensor<?x3x7x1xf32>
}
// CUDA-LABEL: func.func @unknown_batch(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<?x2x5x1xf32>, tensor<2x3x3x1xf32>) -> tensor<?x3x7x1xf32>
// CUDA-NEXT: func.return %dx : tensor<?x3x7x1xf32>
// CHECK-LABEL: func.func @unknown_batch(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<?x2x5x1xf32>, tensor<2x3x3x1xf32>) -> tensor<?x3x7x1xf32>
// CHECK-NEXT: func.return %dx : tensor<?x3x7x1xf32>

// Refused: an unknown size.
func.func @dynamic(%dy: tensor<1x2x?x1xf32>, %w: tensor<2x3x3x1xf32>) -> tensor<1x3x?x1xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x?x1xf32>, tensor<2x3x3x1xf32>) -> tensor<1x3x?x1xf32>
  func.return %dx : tensor<1x3x?x1xf32>
}
// CUDA-LABEL: func.func @dynamic(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x?x1xf32>, tensor<2x3x3x1xf32>) -> tensor<1x3x?x1xf32>
// CUDA-NEXT: func.return %dx : tensor<1x3x?x1xf32>
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x?x1xf32>, tensor<2x3x3x1xf32>) -> tensor<1x3x?x1xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x?x1xf32>

// Refused: an empty batch.
func.func @empty(%dy: tensor<0x2x5x1xf32>, %w: tensor<2x3x3x1xf32>) -> tensor<0x3x7x1xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<0x2x5x1xf32>, tensor<2x3x3x1xf32>) -> tensor<0x3x7x1xf32>
  func.return %dx : tensor<0x3x7x1xf32>
}
// CUDA-LABEL: func.func @empty(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<0x2x5x1xf32>, tensor<2x3x3x1xf32>) -> tensor<0x3x7x1xf32>
// CUDA-NEXT: func.return %dx : tensor<0x3x7x1xf32>
// CHECK-LABEL: func.func @empty(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<0x2x5x1xf32>, tensor<2x3x3x1xf32>) -> tensor<0x3x7x1xf32>
// CHECK-NEXT: func.return %dx : tensor<0x3x7x1xf32>

// Refused: no kernel.
func.func @half(%dy: tensor<1x2x5x1xf16>, %w: tensor<2x3x3x1xf16>) -> tensor<1x3x7x1xf16> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x5x1xf16>, tensor<2x3x3x1xf16>) -> tensor<1x3x7x1xf16>
  func.return %dx : tensor<1x3x7x1xf16>
}
// CUDA-LABEL: func.func @half(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x5x1xf16>, tensor<2x3x3x1xf16>) -> tensor<1x3x7x1xf16>
// CUDA-NEXT: func.return %dx : tensor<1x3x7x1xf16>
// CHECK-LABEL: func.func @half(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x5x1xf16>, tensor<2x3x3x1xf16>) -> tensor<1x3x7x1xf16>
// CHECK-NEXT: func.return %dx : tensor<1x3x7x1xf16>
