// RUN: gradc-opt %s -p select-strategy | filecheck %s
// RUN: gradc-opt %s | gradc-opt - -p select-strategy | filecheck %s
// RUN: gradc-opt %s -p 'select-strategy{strategy=conv-to-col2im}' | filecheck %s --check-prefix=FORCED

// The strategy that an op names is taken, unless one is forced.
func.func @chosen(%dy: tensor<1x2x5x5xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x3x7x7xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX", gradc.choice = "conv-to-conv"} : (tensor<1x2x5x5xf32>, tensor<2x3x3x3xf32>) -> tensor<1x3x7x7xf32>
  func.return %dx : tensor<1x3x7x7xf32>
}
// CHECK-LABEL: func.func @chosen(
// CHECK: onnx.Conv {{.*}}gradc.strategy = "conv-to-conv"}
// FORCED-LABEL: func.func @chosen(
// FORCED: onnx.Col2Im {{.*}}gradc.strategy = "conv-to-col2im"}

// Where it does not apply, the cheapest is: a strided gradient is no convolution.
func.func @refused(%dy: tensor<1x2x5x5xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<1x3x11x11xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 2], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX", gradc.choice = "conv-to-conv"} : (tensor<1x2x5x5xf32>, tensor<2x3x3x3xf32>) -> tensor<1x3x11x11xf32>
  func.return %dx : tensor<1x3x11x11xf32>
}
// CHECK-LABEL: func.func @refused(
// CHECK-NOT: "conv-to-conv"
// FORCED-LABEL: func.func @refused(

// Neither is one for ops of another kind.
func.func @foreign(%dy: tensor<1x3x4xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel", gradc.choice = "conv-to-conv"} : (tensor<1x3x4xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @foreign(
// CHECK: gradc.strategy = "resize-to-
// FORCED-LABEL: func.func @foreign(
