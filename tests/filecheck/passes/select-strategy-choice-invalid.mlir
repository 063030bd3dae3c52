// RUN: gradc-opt %s -p select-strategy --split-input-file --verify-diagnostics | filecheck %s

// CHECK: [[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] attribute gradc.choice: given conv-to-com, expected one of conv-to-conv, {{.*}}; did you mean {{.*}}conv-to-conv?
func.func @no_such_strategy(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x7xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX", gradc.choice = "conv-to-com"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return %dx : tensor<1x3x7xf32>
}

// -----

// CHECK: [[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] attribute gradc.choice: given 3 : i64, expected the "name" of a strategy
func.func @no_name(%x: tensor<1x1x2x2xf32>, %dy: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [4, 4], gradc.choice = 3} : (tensor<1x1x2x2xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  func.return %dx : tensor<1x1x2x2xf32>
}

// -----

// CHECK: [[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] unknown attribute gradc.chosen: expected one of
func.func @no_such_attribute(%x: tensor<1x1x2x2xf32>, %dy: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [4, 4], gradc.chosen = "resize-to-matmul"} : (tensor<1x1x2x2xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  func.return %dx : tensor<1x1x2x2xf32>
}
