// RUN: gradc-opt %s --verify-diagnostics --split-input-file | filecheck %s

// grad.avg_pool_backward C1: a rank of 6
// CHECK: avg_pool_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.avg_pool_backward "dx"] rank of diff_dst: given 6, expected 3 to 5
func.func @f(%dy: tensor<1x4x3x3x3x3xf32>) {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], residue = [0], layout = "NCX"} : (tensor<1x4x3x3x3x3xf32>) -> tensor<1x4x5x5x5x5xf32>
  func.return
}

// -----

// grad.avg_pool_backward C1: strides of a wrong length
// CHECK: avg_pool_invalid.mlir:[[# @LINE + 2]]:51: error: [grad.avg_pool_backward "dx"] strides: given [2, 2], expected 1 values >= 1, those of W
func.func @f(%dy: tensor<1x4x3xf32>) {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2, 2], dilations = [1], pads_begin = [1], pads_end = [1], residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>) -> tensor<1x4x5xf32>
  func.return
}

// -----

// grad.avg_pool_backward C2: a kernel without taps
// CHECK: avg_pool_invalid.mlir:[[# @LINE + 2]]:37: error: [grad.avg_pool_backward "dx"] kernel: given [0], expected 1 values >= 1
func.func @f(%dy: tensor<1x4x3xf32>) {
  %dx = grad.avg_pool_backward %dy {kernel = [0], strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>) -> tensor<1x4x5xf32>
  func.return
}

// -----

// grad.avg_pool_backward C3: a rest that holds another window
// CHECK: avg_pool_invalid.mlir:[[# @LINE + 2]]:117: error: [grad.avg_pool_backward "dx"] residue axis W: given 2, expected < stride 2
func.func @f(%dy: tensor<1x4x3xf32>) {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], residue = [2], layout = "NCX"} : (tensor<1x4x3xf32>) -> tensor<1x4x5xf32>
  func.return
}

// -----

// grad.avg_pool_backward C4: pads of all there is
// CHECK: avg_pool_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.avg_pool_backward "dx"] diff_src axis W: given -1, expected a positive size
func.func @f(%dy: tensor<1x4x3xf32>) {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [7], pads_end = [1], residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>) -> tensor<1x4x1xf32>
  func.return
}
