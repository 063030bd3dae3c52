// RUN: gradc-opt %s --verify-diagnostics --split-input-file | filecheck %s

// grad.conv_backward_data C1: weights of another rank
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] ranks of diff_dst and weights: given 3 and 4, expected equal, 3 to 5
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C1: strides of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:41: error: [grad.conv_backward_data "dx"] strides: given [2, 2], expected 1 values >= 1
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2, 2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C1: residue of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:119: error: [grad.conv_backward_data "dx"] residue: given [0, 0], expected 1 values >= 0
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C2: a zero dilation
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:56: error: [grad.conv_backward_data "dx"] dilations: given [0], expected 1 values >= 1
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [0], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C2: negative pads
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:91: error: [grad.conv_backward_data "dx"] pads_end: given [-1], expected 1 values >= 0
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [-1], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C2: a negative residue
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:119: error: [grad.conv_backward_data "dx"] residue: given [-1], expected 1 values >= 0
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [-1], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C3: O of weights is not the channel count
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] channels of diff_dst: given 2, expected 3
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<3x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<3x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C3: groups that do not divide O
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:107: error: [grad.conv_backward_data "dx"] groups: given 3, expected a divisor of 2
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 3, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data C4: a residue not below the stride
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:119: error: [grad.conv_backward_data "dx"] residue axis W: given 2, expected < stride 2
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [2], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x9xf32>
  func.return
}

// -----

// grad.conv_backward_data C5: pads that leave nothing
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] diff_src axis W: given 0, expected a positive size
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [7], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_backward_data result: a size that is not s (Y - 1) + Ke - pb - pe + r
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] shape of diff_src: given [1, 3, 8], expected [1, 3, 7]
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x8xf32>
  func.return
}

// -----

// grad.conv_backward_data weights: sizes known at compile time
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] weights shape: given [2, 3, ?], expected known sizes
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x?xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x?xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data C1: rank below 3
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_transpose_backward_data "dx"] ranks of diff_dst and weights: given 2 and 3, expected equal, 3 to 5
func.func @f(%a: tensor<1x2xf32>, %b: tensor<3x2x3xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data C1: pads_begin of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:83: error: [grad.conv_transpose_backward_data "dx"] pads_begin: given [0, 0], expected 1 values >= 0
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0, 0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data C2: a zero stride
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:51: error: [grad.conv_transpose_backward_data "dx"] strides: given [0], expected 1 values >= 1
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [0], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data C3: O of weights is not the channel count
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_transpose_backward_data "dx"] channels of diff_dst: given 2, expected 4
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x4x3xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2x7xf32>, tensor<3x4x3xf32>) -> tensor<1x3x3xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data C3: groups that do not divide C
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:117: error: [grad.conv_transpose_backward_data "dx"] groups: given 2, expected a divisor of 3
func.func @f(%a: tensor<1x4x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data C4: a kernel larger than the padded diff_dst
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_transpose_backward_data "dx"] kernel extent (8-1)*1+1 = 8 exceeds the padded size 7+0+0 = 7
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x8xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2x7xf32>, tensor<3x2x8xf32>) -> tensor<1x3x3xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data result: a size that is not (Y + pb + pe - Ke) div s + 1
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_transpose_backward_data "dx"] shape of diff_src: given [1, 3, 4], expected [1, 3, 3]
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x4xf32>
  func.return
}

// -----

// grad.take_window C1: begin with an entry too many
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.take_window "dx"] shape of begin and size: given [2], expected [1]
func.func @f(%a: tensor<1x2x9xf32>, %b: tensor<2xi64>, %c: tensor<1xi64>) {
  %dx = grad.take_window %a, %b, %c {axes = [2]} : (tensor<1x2x9xf32>, tensor<2xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return
}

// -----

// grad.take_window C1: size of another rank
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.take_window "dx"] shape of begin and size: given [1, 1], expected [1]
func.func @f(%a: tensor<1x2x9xf32>, %b: tensor<1xi64>, %c: tensor<1x1xi64>) {
  %dx = grad.take_window %a, %b, %c {axes = [2]} : (tensor<1x2x9xf32>, tensor<1xi64>, tensor<1x1xi64>) -> tensor<1x2x?xf32>
  func.return
}

// -----

// grad.resize_backward C1: a size too many
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:46: error: [grad.resize_backward "dx"] input_sizes: given [4, 4], expected 1 values
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [4, 4], step_numerators = [2], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward C1: a numerator too few
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:65: error: [grad.resize_backward "dx"] step_numerators: given [], expected 1 values
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [4], step_numerators = [], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward C2: an axis beyond the rank
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:34: error: [grad.resize_backward "dx"] axes: given [3], expected distinct axes below 3
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [3], input_sizes = [4], step_numerators = [2], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward C2: an axis twice
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:34: error: [grad.resize_backward "dx"] axes: given [2, 2], expected distinct axes below 3
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2, 2], input_sizes = [4, 4], step_numerators = [2, 2], step_denominators = [3, 3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward C3: an unknown size
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.resize_backward "dx"] sizes of axis 2: given [?, 4], expected known, positive sizes
func.func @f(%a: tensor<1x2x?xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [4], step_numerators = [2], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward C3: a zero size
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.resize_backward "dx"] sizes of axis 2: given [6, 0], expected known, positive sizes
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [0], step_numerators = [2], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x0xf32>
  func.return
}

// -----

// grad.resize_backward C4: a negative numerator
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.resize_backward "dx"] step of axis 2: given -1/3
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [4], step_numerators = [-1], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward C4: a zero denominator
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.resize_backward "dx"] step of axis 2: given 2/0
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [4], step_numerators = [2], step_denominators = [0], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward form: a word that is none
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:113: error: [grad.resize_backward "dx"] attribute interpolation: given "cubic", expected one of linear, nearest_half_up, nearest_half_down, nearest_floor
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [4], step_numerators = [2], step_denominators = [3], interpolation = "cubic", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// grad.resize_backward result: a size that is not in input_sizes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.resize_backward "dx"] shape of diff_src: given [1, 2, 5], expected [1, 2, 4]
func.func @f(%a: tensor<1x2x6xf32>) {
  %dx = grad.resize_backward %a {axes = [2], input_sizes = [4], step_numerators = [2], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6xf32>) -> tensor<1x2x5xf32>
  func.return
}

// -----

// grad.resize_backward_dynamic C1: sizes for two axes, where axes has one
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.resize_backward_dynamic "dx"] shape of a size operand: given [2], expected [1]
func.func @f(%a: tensor<1x2x?xf32>, %b: tensor<2xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  %dx = grad.resize_backward_dynamic %a, %b, %c, %d {axes = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return
}

// -----

// grad.resize_backward_dynamic C2: an axis beyond the rank
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:54: error: [grad.resize_backward_dynamic "dx"] axes: given [5], expected distinct axes below 3
func.func @f(%a: tensor<1x2x?xf32>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  %dx = grad.resize_backward_dynamic %a, %b, %c, %d {axes = [5], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return
}

// -----

// grad.take_window C2: the same axis twice
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:38: error: [grad.take_window "dx"] axes: given [2, 2], expected distinct axes below 3
func.func @f(%a: tensor<1x2x9xf32>, %b: tensor<2xi64>, %c: tensor<2xi64>) {
  %dx = grad.take_window %a, %b, %c {axes = [2, 2]} : (tensor<1x2x9xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x?xf32>
  func.return
}

// -----

// grad.conv_backward_data C3: in NXC the channels are the last axis
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] channels of diff_dst: given 3, expected 2
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NXC"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x5x3xf32>
  func.return
}

// -----

// A layout that is none
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:134: error: [grad.conv_backward_data "dx"] attribute layout: given "CNX", expected one of NCX, NXC
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf32>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "CNX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// No layout
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_transpose_backward_data "dx"] attribute layout is missing: expected one of NCX, NXC
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<3x2x3xf32>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1} : (tensor<1x2x3xf32>, tensor<3x2x3xf32>) -> tensor<1x3x1xf32>
  func.return
}

// -----

// grad.conv_backward_data C6: two dtypes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] dtypes of diff_dst and weights: given f32 and f64, expected equal
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<2x3x3xf64>) {
  %dx = grad.conv_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x3xf64>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// grad.conv_transpose_backward_data C6: two dtypes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [grad.conv_transpose_backward_data "dx"] dtypes of diff_dst and weights: given f32 and bf16, expected equal
func.func @f(%a: tensor<1x2x3xf32>, %b: tensor<3x2x3xbf16>) {
  %dx = grad.conv_transpose_backward_data %a, %b {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2x3xf32>, tensor<3x2x3xbf16>) -> tensor<1x3x1xf32>
  func.return
}
