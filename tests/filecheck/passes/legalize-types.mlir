// RUN: gradc-opt %s -p 'legalize-types{target=cpu}' | filecheck %s --check-prefix=CPU
// RUN: gradc-opt %s -p 'legalize-types{target=cuda}' | filecheck %s --check-prefix=CUDA

// No target accumulates bf16 convolutions in f32 by itself: widened, rounded once.
func.func @conv_bf16(%dy: tensor<1x2x5xbf16>, %w: tensor<2x3x3xbf16>) -> tensor<1x3x7xbf16> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xbf16>, tensor<2x3x3xbf16>) -> tensor<1x3x7xbf16>
  func.return %dx : tensor<1x3x7xbf16>
}
// CUDA-LABEL: func.func @conv_bf16(
// CUDA-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xbf16>) -> tensor<1x2x5xf32>
// CUDA-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x3x3xbf16>) -> tensor<2x3x3xf32>
// CUDA-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
// CUDA-NEXT: %dx = onnx.Cast %2 {to = bf16} : (tensor<1x3x7xf32>) -> tensor<1x3x7xbf16>
// CUDA-NEXT: func.return %dx : tensor<1x3x7xbf16>
// CPU-LABEL: func.func @conv_bf16(
// CPU-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xbf16>) -> tensor<1x2x5xf32>
// CPU-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x3x3xbf16>) -> tensor<2x3x3xf32>
// CPU-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
// CPU-NEXT: %dx = onnx.Cast %2 {to = bf16} : (tensor<1x3x7xf32>) -> tensor<1x3x7xbf16>
// CPU-NEXT: func.return %dx : tensor<1x3x7xbf16>

// cuDNN's f16 convolutions accumulate in f32: native on cuda.
func.func @conv_f16(%dy: tensor<1x2x5xf16>, %w: tensor<2x3x3xf16>) -> tensor<1x3x7xf16> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf16>, tensor<2x3x3xf16>) -> tensor<1x3x7xf16>
  func.return %dx : tensor<1x3x7xf16>
}
// CUDA-LABEL: func.func @conv_f16(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf16>, tensor<2x3x3xf16>) -> tensor<1x3x7xf16>
// CUDA-NEXT: func.return %dx : tensor<1x3x7xf16>
// CPU-LABEL: func.func @conv_f16(
// CPU-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xf16>) -> tensor<1x2x5xf32>
// CPU-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x3x3xf16>) -> tensor<2x3x3xf32>
// CPU-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
// CPU-NEXT: %dx = onnx.Cast %2 {to = f16} : (tensor<1x3x7xf32>) -> tensor<1x3x7xf16>
// CPU-NEXT: func.return %dx : tensor<1x3x7xf16>

// f16 convolutions that feed each other are computed in f32 on cuda, too: what is between them may be
// beyond 65504. The third stands alone.
func.func @linked_f16(%dy: tensor<1x2x5xf16>, %w: tensor<2x2x3xf16>) -> (tensor<1x2x9xf16>, tensor<1x2x7xf16>) {
  %a = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf16>, tensor<2x2x3xf16>) -> tensor<1x2x7xf16>
  %b = grad.conv_backward_data %a, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf16>, tensor<2x2x3xf16>) -> tensor<1x2x9xf16>
  %n = onnx.Neg %dy : (tensor<1x2x5xf16>) -> tensor<1x2x5xf16>
  %c = grad.conv_backward_data %n, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf16>, tensor<2x2x3xf16>) -> tensor<1x2x7xf16>
  func.return %b, %c : tensor<1x2x9xf16>, tensor<1x2x7xf16>
}
// CUDA-LABEL: func.func @linked_f16(
// CUDA-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xf16>) -> tensor<1x2x5xf32>
// CUDA-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x2x3xf16>) -> tensor<2x2x3xf32>
// CUDA-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
// CUDA-NEXT: %3 = grad.conv_backward_data %2, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CUDA-NEXT: %b = onnx.Cast %3 {to = f16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xf16>
// CUDA-NEXT: %n = onnx.Neg %dy : (tensor<1x2x5xf16>) -> tensor<1x2x5xf16>
// CUDA-NEXT: %c = grad.conv_backward_data %n, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf16>, tensor<2x2x3xf16>) -> tensor<1x2x7xf16>
// CUDA-NEXT: func.return %b, %c : tensor<1x2x9xf16>, tensor<1x2x7xf16>
// CPU-LABEL: func.func @linked_f16(
// CPU-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xf16>) -> tensor<1x2x5xf32>
// CPU-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x2x3xf16>) -> tensor<2x2x3xf32>
// CPU-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
// CPU-NEXT: %3 = grad.conv_backward_data %2, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CPU-NEXT: %b = onnx.Cast %3 {to = f16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xf16>
// CPU-NEXT: %4 = onnx.Neg %0 : (tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
// CPU-NEXT: %5 = grad.conv_backward_data %4, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
// CPU-NEXT: %c = onnx.Cast %5 {to = f16} : (tensor<1x2x7xf32>) -> tensor<1x2x7xf16>
// CPU-NEXT: func.return %b, %c : tensor<1x2x9xf16>, tensor<1x2x7xf16>

// A resize is several products, whose intermediate values would round.
func.func @resize_bf16(%x: tensor<1x2x4xbf16>, %dy: tensor<1x2x6xbf16>) -> tensor<1x2x4xbf16> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xbf16>, tensor<1x2x6xbf16>) -> tensor<1x2x4xbf16>
  func.return %dx : tensor<1x2x4xbf16>
}
// CUDA-LABEL: func.func @resize_bf16(
// CUDA-NEXT: %0 = onnx.Cast %x {to = f32} : (tensor<1x2x4xbf16>) -> tensor<1x2x4xf32>
// CUDA-NEXT: %1 = onnx.Cast %dy {to = f32} : (tensor<1x2x6xbf16>) -> tensor<1x2x6xf32>
// CUDA-NEXT: %2 = onednn.interpolate_backward %0, %1 {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
// CUDA-NEXT: %dx = onnx.Cast %2 {to = bf16} : (tensor<1x2x4xf32>) -> tensor<1x2x4xbf16>
// CUDA-NEXT: func.return %dx : tensor<1x2x4xbf16>
// CPU-LABEL: func.func @resize_bf16(
// CPU-NEXT: %0 = onnx.Cast %x {to = f32} : (tensor<1x2x4xbf16>) -> tensor<1x2x4xf32>
// CPU-NEXT: %1 = onnx.Cast %dy {to = f32} : (tensor<1x2x6xbf16>) -> tensor<1x2x6xf32>
// CPU-NEXT: %2 = onednn.interpolate_backward %0, %1 {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
// CPU-NEXT: %dx = onnx.Cast %2 {to = bf16} : (tensor<1x2x4xf32>) -> tensor<1x2x4xbf16>
// CPU-NEXT: func.return %dx : tensor<1x2x4xbf16>

// A resize is several products, whose intermediate values would round.
func.func @resize_f16(%x: tensor<1x2x4xf16>, %dy: tensor<1x2x6xf16>) -> tensor<1x2x4xf16> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf16>, tensor<1x2x6xf16>) -> tensor<1x2x4xf16>
  func.return %dx : tensor<1x2x4xf16>
}
// CUDA-LABEL: func.func @resize_f16(
// CUDA-NEXT: %0 = onnx.Cast %x {to = f32} : (tensor<1x2x4xf16>) -> tensor<1x2x4xf32>
// CUDA-NEXT: %1 = onnx.Cast %dy {to = f32} : (tensor<1x2x6xf16>) -> tensor<1x2x6xf32>
// CUDA-NEXT: %2 = onednn.interpolate_backward %0, %1 {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
// CUDA-NEXT: %dx = onnx.Cast %2 {to = f16} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf16>
// CUDA-NEXT: func.return %dx : tensor<1x2x4xf16>
// CPU-LABEL: func.func @resize_f16(
// CPU-NEXT: %0 = onnx.Cast %x {to = f32} : (tensor<1x2x4xf16>) -> tensor<1x2x4xf32>
// CPU-NEXT: %1 = onnx.Cast %dy {to = f32} : (tensor<1x2x6xf16>) -> tensor<1x2x6xf32>
// CPU-NEXT: %2 = onednn.interpolate_backward %0, %1 {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
// CPU-NEXT: %dx = onnx.Cast %2 {to = f16} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf16>
// CPU-NEXT: func.return %dx : tensor<1x2x4xf16>

// Between two gradients nothing is rounded.
func.func @chain(%dy: tensor<1x2x5xbf16>, %w: tensor<2x2x3xbf16>) -> tensor<1x2x9xbf16> {
  %a = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xbf16>, tensor<2x2x3xbf16>) -> tensor<1x2x7xbf16>
  %b = grad.conv_backward_data %a, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xbf16>, tensor<2x2x3xbf16>) -> tensor<1x2x9xbf16>
  func.return %b : tensor<1x2x9xbf16>
}
// CUDA-LABEL: func.func @chain(
// CUDA-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xbf16>) -> tensor<1x2x5xf32>
// CUDA-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x2x3xbf16>) -> tensor<2x2x3xf32>
// CUDA-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
// CUDA-NEXT: %3 = grad.conv_backward_data %2, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CUDA-NEXT: %b = onnx.Cast %3 {to = bf16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xbf16>
// CUDA-NEXT: func.return %b : tensor<1x2x9xbf16>
// CPU-LABEL: func.func @chain(
// CPU-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xbf16>) -> tensor<1x2x5xf32>
// CPU-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x2x3xbf16>) -> tensor<2x2x3xf32>
// CPU-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
// CPU-NEXT: %3 = grad.conv_backward_data %2, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CPU-NEXT: %b = onnx.Cast %3 {to = bf16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xbf16>
// CPU-NEXT: func.return %b : tensor<1x2x9xbf16>

// Constant weights are widened at compile time.
func.func @constant(%dy: tensor<1x1x5xbf16>) -> tensor<1x1x6xbf16> {
  %w = onnx.Constant dense<[[[1.5, -2.0]]]> : tensor<1x1x2xbf16>
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x1x5xbf16>, tensor<1x1x2xbf16>) -> tensor<1x1x6xbf16>
  func.return %dx : tensor<1x1x6xbf16>
}
// CUDA-LABEL: func.func @constant(
// CUDA-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x1x5xbf16>) -> tensor<1x1x5xf32>
// CUDA-NEXT: %1 = onnx.Constant dense<[[[1.500000e+00, -2.000000e+00]]]> : tensor<1x1x2xf32>
// CUDA-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
// CUDA-NEXT: %dx = onnx.Cast %2 {to = bf16} : (tensor<1x1x6xf32>) -> tensor<1x1x6xbf16>
// CUDA-NEXT: func.return %dx : tensor<1x1x6xbf16>
// CPU-LABEL: func.func @constant(
// CPU-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x1x5xbf16>) -> tensor<1x1x5xf32>
// CPU-NEXT: %1 = onnx.Constant dense<[[[1.500000e+00, -2.000000e+00]]]> : tensor<1x1x2xf32>
// CPU-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
// CPU-NEXT: %dx = onnx.Cast %2 {to = bf16} : (tensor<1x1x6xf32>) -> tensor<1x1x6xbf16>
// CPU-NEXT: func.return %dx : tensor<1x1x6xbf16>

// Only what is half is widened: f32 gradients of a half image.
func.func @mixed(%dy: tensor<1x2x4x4xf32>, %x: tensor<1x2x3x3xf16>) -> tensor<1x2x3x3xf16> {
  %y = cann.resize_bilinear_v2_grad %dy, %x : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf16>) -> tensor<1x2x3x3xf16>
  func.return %y : tensor<1x2x3x3xf16>
}
// CUDA-LABEL: func.func @mixed(
// CUDA-NEXT: %0 = onnx.Cast %x {to = f32} : (tensor<1x2x3x3xf16>) -> tensor<1x2x3x3xf32>
// CUDA-NEXT: %1 = cann.resize_bilinear_v2_grad %dy, %0 : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
// CUDA-NEXT: %y = onnx.Cast %1 {to = f16} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf16>
// CUDA-NEXT: func.return %y : tensor<1x2x3x3xf16>
// CPU-LABEL: func.func @mixed(
// CPU-NEXT: %0 = onnx.Cast %x {to = f32} : (tensor<1x2x3x3xf16>) -> tensor<1x2x3x3xf32>
// CPU-NEXT: %1 = cann.resize_bilinear_v2_grad %dy, %0 : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
// CPU-NEXT: %y = onnx.Cast %1 {to = f16} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf16>
// CPU-NEXT: func.return %y : tensor<1x2x3x3xf16>

// ONNX ops, by the table of kernels: Add has none for bf16 on the CPU, Transpose has.
func.func @onnx(%x: tensor<2x3xbf16>) -> tensor<3x2xbf16> {
  %a = onnx.Add %x, %x : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %t = onnx.Transpose %a {perm = [1, 0]} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  func.return %t : tensor<3x2xbf16>
}
// CUDA-LABEL: func.func @onnx(
// CUDA-NEXT: %a = onnx.Add %x, %x : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
// CUDA-NEXT: %t = onnx.Transpose %a {perm = [1, 0]} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
// CUDA-NEXT: func.return %t : tensor<3x2xbf16>
// CPU-LABEL: func.func @onnx(
// CPU-NEXT: %0 = onnx.Cast %x {to = f32} : (tensor<2x3xbf16>) -> tensor<2x3xf32>
// CPU-NEXT: %1 = onnx.Add %0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CPU-NEXT: %a = onnx.Cast %1 {to = bf16} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
// CPU-NEXT: %t = onnx.Transpose %a {perm = [1, 0]} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
// CPU-NEXT: func.return %t : tensor<3x2xbf16>

// f32 and f64 stay what they are.
func.func @f64(%dy: tensor<1x2x5xf64>, %w: tensor<2x3x3xf64>) -> tensor<1x3x7xf64> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
  func.return %dx : tensor<1x3x7xf64>
}
// CUDA-LABEL: func.func @f64(
// CUDA-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
// CUDA-NEXT: func.return %dx : tensor<1x3x7xf64>
// CPU-LABEL: func.func @f64(
// CPU-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
// CPU-NEXT: func.return %dx : tensor<1x3x7xf64>

// A region widens once at its inputs and narrows once what leaves it, an inner result included. A Cast
// that was written is a rounding that was asked for.
func.func @region(%dy: tensor<1x2x5xbf16>, %w: tensor<2x2x3xbf16>) -> (tensor<1x2x7xbf16>, tensor<1x2x9xbf16>, tensor<1x2x9xbf16>) {
  %a = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xbf16>, tensor<2x2x3xbf16>) -> tensor<1x2x7xbf16>
  %b = grad.conv_backward_data %a, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xbf16>, tensor<2x2x3xbf16>) -> tensor<1x2x9xbf16>
  %c = grad.resize_backward %b {axes = [2], input_sizes = [7], step_numerators = [7], step_denominators = [9], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x9xbf16>) -> tensor<1x2x7xbf16>
  %0 = onnx.Cast %c {to = f32} : (tensor<1x2x7xbf16>) -> tensor<1x2x7xf32>
  %1 = onnx.Cast %0 {to = bf16} : (tensor<1x2x7xf32>) -> tensor<1x2x7xbf16>
  %2 = onnx.Cast %1 {to = f16} : (tensor<1x2x7xbf16>) -> tensor<1x2x7xf16>
  %3 = onnx.Cast %2 {to = bf16} : (tensor<1x2x7xf16>) -> tensor<1x2x7xbf16>
  %d = grad.conv_backward_data %3, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xbf16>, tensor<2x2x3xbf16>) -> tensor<1x2x9xbf16>
  func.return %a, %b, %d : tensor<1x2x7xbf16>, tensor<1x2x9xbf16>, tensor<1x2x9xbf16>
}
// CUDA-LABEL: func.func @region(
// CUDA-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xbf16>) -> tensor<1x2x5xf32>
// CUDA-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x2x3xbf16>) -> tensor<2x2x3xf32>
// CUDA-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
// CUDA-NEXT: %a = onnx.Cast %2 {to = bf16} : (tensor<1x2x7xf32>) -> tensor<1x2x7xbf16>
// CUDA-NEXT: %3 = grad.conv_backward_data %2, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CUDA-NEXT: %b = onnx.Cast %3 {to = bf16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xbf16>
// CUDA-NEXT: %4 = grad.resize_backward %3 {axes = [2], input_sizes = [7], step_numerators = [7], step_denominators = [9], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x9xf32>) -> tensor<1x2x7xf32>
// CUDA-NEXT: %c = onnx.Cast %4 {to = bf16} : (tensor<1x2x7xf32>) -> tensor<1x2x7xbf16>
// CUDA-NEXT: %5 = onnx.Cast %c {to = f16} : (tensor<1x2x7xbf16>) -> tensor<1x2x7xf16>
// CUDA-NEXT: %6 = onnx.Cast %5 {to = bf16} : (tensor<1x2x7xf16>) -> tensor<1x2x7xbf16>
// CUDA-NEXT: %7 = onnx.Cast %6 {to = f32} : (tensor<1x2x7xbf16>) -> tensor<1x2x7xf32>
// CUDA-NEXT: %8 = grad.conv_backward_data %7, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CUDA-NEXT: %d = onnx.Cast %8 {to = bf16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xbf16>
// CUDA-NEXT: func.return %a, %b, %d : tensor<1x2x7xbf16>, tensor<1x2x9xbf16>, tensor<1x2x9xbf16>
// CPU-LABEL: func.func @region(
// CPU-NEXT: %0 = onnx.Cast %dy {to = f32} : (tensor<1x2x5xbf16>) -> tensor<1x2x5xf32>
// CPU-NEXT: %1 = onnx.Cast %w {to = f32} : (tensor<2x2x3xbf16>) -> tensor<2x2x3xf32>
// CPU-NEXT: %2 = grad.conv_backward_data %0, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
// CPU-NEXT: %a = onnx.Cast %2 {to = bf16} : (tensor<1x2x7xf32>) -> tensor<1x2x7xbf16>
// CPU-NEXT: %3 = grad.conv_backward_data %2, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CPU-NEXT: %b = onnx.Cast %3 {to = bf16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xbf16>
// CPU-NEXT: %4 = grad.resize_backward %3 {axes = [2], input_sizes = [7], step_numerators = [7], step_denominators = [9], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x9xf32>) -> tensor<1x2x7xf32>
// CPU-NEXT: %c = onnx.Cast %4 {to = bf16} : (tensor<1x2x7xf32>) -> tensor<1x2x7xbf16>
// CPU-NEXT: %5 = onnx.Cast %c {to = f16} : (tensor<1x2x7xbf16>) -> tensor<1x2x7xf16>
// CPU-NEXT: %6 = onnx.Cast %5 {to = bf16} : (tensor<1x2x7xf16>) -> tensor<1x2x7xbf16>
// CPU-NEXT: %7 = onnx.Cast %6 {to = f32} : (tensor<1x2x7xbf16>) -> tensor<1x2x7xf32>
// CPU-NEXT: %8 = grad.conv_backward_data %7, %1 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x7xf32>, tensor<2x2x3xf32>) -> tensor<1x2x9xf32>
// CPU-NEXT: %d = onnx.Cast %8 {to = bf16} : (tensor<1x2x9xf32>) -> tensor<1x2x9xbf16>
// CPU-NEXT: func.return %a, %b, %d : tensor<1x2x7xbf16>, tensor<1x2x9xbf16>, tensor<1x2x9xbf16>
