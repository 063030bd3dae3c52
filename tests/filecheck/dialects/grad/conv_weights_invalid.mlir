// RUN: gradc-opt %s --verify-diagnostics --split-input-file | filecheck %s

// grad.conv_backward_weights C1: ranks that differ
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_weights "dw"] ranks of src and diff_dst: given 3 and 4, expected equal, 3 to 5
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x3x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x3x3xf32>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C1: strides of a wrong length
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:59: error: [grad.conv_backward_weights "dw"] strides: given [2, 2], expected 1 values >= 1, those of W
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2, 2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x3xf32>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C2: a kernel without taps
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:45: error: [grad.conv_backward_weights "dw"] kernel: given [0], expected 1 values >= 1
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [0], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x3xf32>) -> tensor<6x4x0xf32>
  func.return
}

// -----

// grad.conv_backward_weights C2: negative pads
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:91: error: [grad.conv_backward_weights "dw"] pads_begin: given [-1], expected 1 values >= 0
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [-1], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x3xf32>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C3: channels that are not known
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_weights "dw"] channels of src: given unknown, expected a known, positive number
func.func @f(%x: tensor<1x?x7xf32>, %dy: tensor<1x6x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x?x7xf32>, tensor<1x6x3xf32>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C3: groups that divide the channels of diff_dst only
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:125: error: [grad.conv_backward_weights "dw"] groups: given 3, expected a divisor of 4, the channels of src
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 3, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x3xf32>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C4: windows that do not fit
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_weights "dw"] axis W: kernel extent (9-1)*1+1 = 9 exceeds the padded size 7+0+0 = 7; enlarge the pads or the size, or shrink kernel or dilation
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [9], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x3xf32>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C4: another number of windows
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_weights "dw"] axis W: sizes disagree: forward gives (7 - 3 + 0 + 0) div 2 + 1 = 3, diff_dst has 4: given diff_src size 7, expected 9 to 10 (legal sizes)
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x4xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x4xf32>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C5: two dtypes
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_weights "dw"] dtypes of src and diff_dst: given f32 and f16, expected equal
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x3xf16>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x6x3xf16>) -> tensor<6x4x3xf32>
  func.return
}

// -----

// grad.conv_backward_weights C5: two batches
// CHECK: conv_weights_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_weights "dw"] batch of diff_dst: given 2, expected 1, that of src
func.func @f(%x: tensor<1x4x7xf32>, %dy: tensor<2x6x3xf32>) {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<2x6x3xf32>) -> tensor<6x4x3xf32>
  func.return
}
