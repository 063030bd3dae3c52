// RUN: gradc-opt %s -p 'select-strategy{strategy=conv-to-conv}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: not gradc-opt %s -p 'select-strategy{strategy=conv-to-conv}' --split-input-file
// RUN: not gradc-opt %s -p 'select-strategy{strategy=conv-to-com}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: strategy: given conv-to-com, expected auto or the name of a strategy; did you mean {{.*}}conv-to-conv?

// CHECK: select-strategy-refused.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] strategy conv-to-conv does not apply: stride 2 on axis W: only stride 1 is a convolution
func.func @strided(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x11xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x11xf32>
  func.return %dx : tensor<1x3x11xf32>
}

// -----

// CHECK: select-strategy-refused.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] strategy conv-to-conv does not apply: pads (2, 0) on axis W reach the kernel extent 2: the convolution would need negative pads
func.func @pads(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [2], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x2xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}

// -----

// CHECK: select-strategy-refused.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] strategy conv-to-conv does not apply: Conv has no f64 kernel on cpu at opset 18
func.func @f64(%dy: tensor<1x2x5xf64>, %w: tensor<2x3x3xf64>) -> tensor<1x3x7xf64> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
  func.return %dx : tensor<1x3x7xf64>
}

// -----

// CHECK: error: strategy conv-to-conv lowers grad.conv_backward_data and grad.conv_transpose_backward_data only, which the graph does not contain; without a strategy gradc chooses one
func.func @resize(%dy: tensor<1x3x4xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x4xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
