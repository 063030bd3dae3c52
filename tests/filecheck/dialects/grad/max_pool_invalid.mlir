// RUN: gradc-opt %s --verify-diagnostics --split-input-file | filecheck %s

// grad.max_pool_backward C1: ranks that differ
// CHECK: max_pool_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.max_pool_backward "dx"] ranks of src and diff_dst: given 3 and 4, expected equal, 3 to 5
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x4x3x3xf32>) {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x7xf32>
  func.return
}

// -----

// grad.max_pool_backward C1: strides of a wrong length
// CHECK: max_pool_invalid.mlir:[[# @LINE + 2]]:55: error: [grad.max_pool_backward "dx"] strides: given [2, 2], expected 1 values >= 1, those of W
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x4x3xf32>) {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2, 2], dilations = [1], pads_begin = [0], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x4x3xf32>) -> tensor<1x4x7xf32>
  func.return
}

// -----

// grad.max_pool_backward C2: a kernel without taps
// CHECK: max_pool_invalid.mlir:[[# @LINE + 2]]:41: error: [grad.max_pool_backward "dx"] kernel: given [0], expected 1 values >= 1
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x4x3xf32>) {
  %dx = grad.max_pool_backward %x, %dy {kernel = [0], strides = [2], dilations = [1], pads_begin = [0], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x4x3xf32>) -> tensor<1x4x7xf32>
  func.return
}

// -----

// grad.max_pool_backward C2: negative pads
// CHECK: max_pool_invalid.mlir:[[# @LINE + 2]]:87: error: [grad.max_pool_backward "dx"] pads_begin: given [-1], expected 1 values >= 0
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x4x3xf32>) {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [-1], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x4x3xf32>) -> tensor<1x4x7xf32>
  func.return
}

// -----

// grad.max_pool_backward C3: two dtypes
// CHECK: max_pool_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.max_pool_backward "dx"] dtypes of src and diff_dst: given f32 and f16, expected equal
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x4x3xf16>) {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x4x3xf16>) -> tensor<1x4x7xf32>
  func.return
}

// -----

// grad.max_pool_backward C3: another batch
// CHECK: max_pool_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.max_pool_backward "dx"] batch of diff_dst: given 2, expected 1, that of src
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<2x4x3xf32>) {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<2x4x3xf32>) -> tensor<1x4x7xf32>
  func.return
}

// -----

// grad.max_pool_backward C3: other channels
// CHECK: max_pool_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.max_pool_backward "dx"] channels of diff_dst: given 5, expected 4, that of src
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x5x3xf32>) {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x5x3xf32>) -> tensor<1x4x7xf32>
  func.return
}
