// RUN: gradc-opt %s --verify-diagnostics --split-input-file | filecheck %s

// onednn.convolution_backward_data C1: two dtypes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] dtypes differ: given diff_dst f32, weights bf16, expected the same on all ports
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xbf16>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xbf16>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C1: no float
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] dtype of diff_dst: given s32, expected one of f32, bf16, f16
func.func @f(%a: tensor<1x2x5xi32>, %b: tensor<2x3x3xi32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xi32>, tensor<2x3x3xi32>) -> tensor<1x3x7xi32>
  func.return
}

// -----

// onednn.convolution_backward_data C1: the result's dtype is that of the ports
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] dtype of diff_src: given f16, expected f32
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf16>
  func.return
}

// -----

// onednn.convolution_backward_data C1: dst_shape is s32
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] dtype of dst_shape: given s64, expected s32
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>, %c: tensor<3xi64>) {
  %dx = onednn.convolution_backward_data %a, %b, %c {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>, tensor<3xi64>) -> tensor<1x3x?xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C1: dst_shape is a vector with an entry per axis
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] shape of dst_shape: given [1], expected [3]
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>, %c: tensor<1xi32>) {
  %dx = onednn.convolution_backward_data %a, %b, %c {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>, tensor<1xi32>) -> tensor<1x3x?xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C2: rank below 3
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] rank of diff_dst: given 2 [1, 2], expected 3 to 5
func.func @f(%a: tensor<1x2xf32>, %b: tensor<2x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C2: rank above 5
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] rank of diff_dst: given 6 [1, 2, 3, 4, 5, 6], expected 3 to 5
func.func @f(%a: tensor<1x2x3x4x5x6xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x3x4x5x6xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C2: weights of another rank, as with an axis for groups
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] rank of weights: given 4 [1, 2, 3, 3], expected 3, that of diff_dst
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<1x2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C2: a zero channel count
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] diff_dst axis C: given 0, expected a positive size
func.func @f(%a: tensor<1x0x5xf32>, %b: tensor<0x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x0x5xf32>, tensor<0x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C3: strides of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:50: error: [ConvolutionBackwardData "dx"] length of strides: given 2 [1, 1], expected 1, one value per spatial axis
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1, 1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C3: a zero stride
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:50: error: [ConvolutionBackwardData "dx"] strides axis W: given 0, expected a positive value
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [0], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C3: a zero dilation
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:99: error: [ConvolutionBackwardData "dx"] dilations axis W: given 0, expected a positive value
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [0], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C3: negative pads
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:65: error: [ConvolutionBackwardData "dx"] pads_begin axis W: given -1, expected a non-negative value
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [-1], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C3: pads_end of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:83: error: [ConvolutionBackwardData "dx"] length of pads_end: given 0 [], expected 1, one value per spatial axis
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C3: output_padding of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:161: error: [ConvolutionBackwardData "dx"] length of output_padding: given 2 [0, 0], expected 1, one value per spatial axis
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", output_padding = [0, 0]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C3: no groups
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:161: error: [ConvolutionBackwardData "dx"] groups: given 0, expected a positive value
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", groups = 0} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C4: groups that do not divide O
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:161: error: [ConvolutionBackwardData "dx"] groups: given 3, expected a divisor of O of weights = 4 (4 % 3 = 1)
func.func @f(%a: tensor<1x4x5xf32>, %b: tensor<4x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", groups = 3} : (tensor<1x4x5xf32>, tensor<4x3x3xf32>) -> tensor<1x9x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C4: O of weights is not the channel count
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] weights O: given 4 (OIX reads weights [4, 3, 3] as spatial [3], I 3, O 4), expected 2, the channels of diff_dst [1, 2, 5] (NCX: axis 1)
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<4x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<4x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C4: the same, because the default formats were not meant
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] weights O: given 3 (XIO reads weights [2, 3, 3] as spatial [2], I 3, O 3), expected 5, the channels of diff_dst [1, 2, 5] (NXC: axis 2)
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C5: no size at all
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] the shape of diff_src is not given: expected one of: the dst_shape input, the dst_shape attribute, the declared shape of the output tensor
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C5: dst_shape without N and C
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:161: error: [ConvolutionBackwardData "dx"] length of the dst_shape attribute: given 1 [7], expected 3
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", dst_shape = [7]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C5: dst_shape input and result type disagree
// CHECK: ops_invalid.mlir:[[# @LINE + 3]]:3: error: [ConvolutionBackwardData "dx"] shape of diff_src: given [1, 3, 7] by the declared result type, expected [1, 3, 8] by the dst_shape input
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %c = onnx.Constant dense<[1, 3, 8]> : tensor<3xi32>
  %dx = onednn.convolution_backward_data %a, %b, %c {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>, tensor<3xi32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C5: dst_shape attribute and result type disagree
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] shape of diff_src: given [1, 3, 7] by the declared result type, expected [1, 3, 6] by the dst_shape attribute
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", dst_shape = [1, 3, 6]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C5: a result of another rank
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] rank of diff_src: given [1, 3, 7, 1], expected 3, that of diff_dst
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7x1xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C6: the batch of the result
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] batch of the declared result type: given 2, expected 1, that of diff_dst
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<2x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C6: the channels of the result
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] channels of the declared result type: given 4, expected weights I * groups = 3 * 1 = 3
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x4x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C6: the channels with groups
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] channels of the declared result type: given 3, expected weights I * groups = 3 * 2 = 6
func.func @f(%a: tensor<1x4x5xf32>, %b: tensor<4x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", groups = 2} : (tensor<1x4x5xf32>, tensor<4x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C6: the channels in dst_shape
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:161: error: [ConvolutionBackwardData "dx"] channels of the dst_shape attribute: given 2, expected weights I * groups = 3 * 1 = 3
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", dst_shape = [1, 2, 7]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C7: an X from which the forward convolution does not give Y
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] axis W: sizes disagree: forward gives (8 - 3 + 0 + 0) div 1 + 1 = 6, diff_dst has 5: given diff_src size 8, expected 7 (legal sizes)
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x8xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C7: the legal X of a stride are several
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] axis W: sizes disagree: forward gives (13 - 3 + 0 + 0) div 2 + 1 = 6, diff_dst has 5: given diff_src size 13, expected 11 to 12 (legal sizes)
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x13xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C7: a kernel larger than the padded input
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] axis W: kernel extent (9-1)*1+1 = 9 exceeds the padded size 7+0+0 = 7
func.func @f(%a: tensor<1x2x1xf32>, %b: tensor<2x3x9xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x1xf32>, tensor<2x3x9xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C7: auto_pad same_upper by the page, a negative total that no residue absorbs
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] axis W: auto_pad same_upper: total padding 1*(5-1) + 3 - 9 + 0 = -2 is negative, and no residue below stride 1 absorbs it: given diff_src size 9, expected at most 7
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", auto_pad = "same_upper"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x9xf32>
  func.return
}

// -----

// onednn.convolution_backward_data C8: the library's rule needs Y == ceil(X / s)
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] axis W: auto_pad same_upper: size 5 of diff_dst: given 5, expected ceil(6/1) = 6
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", auto_pad = "same_upper", auto_pad_rule = "library"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x6xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: a misspelled attribute
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:161: error: [ConvolutionBackwardData "dx"] unknown attribute stride: expected one of weights_format, dst_shape, strides, pads_begin, pads_end, dilations, auto_pad, output_padding, groups, data_format, auto_pad_rule; did you mean strides?
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", stride = [1]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: a missing attribute
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] attribute pads_begin is missing: expected a value of type s64[]; required even with auto_pad
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_end = [0], dilations = [1]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: an attribute of a wrong type
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:50: error: [ConvolutionBackwardData "dx"] attribute strides: given '1', expected type s64[]
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = "1", pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: a word that is none
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:161: error: [ConvolutionBackwardData "dx"] attribute auto_pad: given "same", expected one of none, same_upper, same_lower, valid
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", auto_pad = "same"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: a layout of ONNX's
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:116: error: [ConvolutionBackwardData "dx"] attribute data_format: given "NHWC", expected one of NCX, NXC; did you mean NXC?
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NHWC"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: the weights format of the other op
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:116: error: [ConvolutionBackwardData "dx"] attribute weights_format: given "IOX", expected one of OIX, XIO; ConvTranspose uses IOX and XOI, Convolution OIX and XIO
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>) {
  %dx = onednn.convolution_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_format = "IOX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: too few inputs
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] number of inputs: given 1, expected 2 or 3; missing weights
func.func @f(%a: tensor<1x2x5xf32>) {
  %dx = onednn.convolution_backward_data %a {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x2x5xf32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.convolution_backward_data form: too many inputs
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvolutionBackwardData "dx"] number of inputs: given 4, expected 2 or 3
func.func @f(%a: tensor<1x2x5xf32>, %b: tensor<2x3x3xf32>, %c: tensor<3xi32>, %d: tensor<3xi32>) {
  %dx = onednn.convolution_backward_data %a, %b, %c, %d {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<1x3x7xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C1: two dtypes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] dtypes differ: given diff_dst f16, weights f32, expected the same on all ports
func.func @f(%a: tensor<1x2x7xf16>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf16>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C1: no float
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] dtype of diff_dst: given s8, expected one of f32, bf16, f16
func.func @f(%a: tensor<1x2x7xi8>, %b: tensor<3x2x3xi8>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xi8>, tensor<3x2x3xi8>) -> tensor<1x3x5xi8>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C2: rank below 3
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] rank of diff_dst: given 2 [1, 2], expected 3 to 5
func.func @f(%a: tensor<1x2xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C2: weights of another rank
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] rank of weights: given 4 [3, 2, 3, 3], expected 3, that of diff_dst
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C3: dilations of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:102: error: [ConvTransposeBackwardData "dx"] length of dilations: given 2 [1, 1], expected 1, one value per spatial axis
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1, 1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C3: a negative stride
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:53: error: [ConvTransposeBackwardData "dx"] strides axis W: given -2, expected a positive value
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [-2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C3: negative output_padding
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:164: error: [ConvTransposeBackwardData "dx"] output_padding axis W: given -1, expected a non-negative value
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX", output_padding = [-1]} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C4: groups that do not divide O
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:164: error: [ConvTransposeBackwardData "dx"] groups: given 3, expected a divisor of O, the channels of diff_dst, = 4 (4 % 3 = 1)
func.func @f(%a: tensor<1x4x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX", groups = 3} : (tensor<1x4x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C4: groups that do not divide C
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:164: error: [ConvTransposeBackwardData "dx"] groups: given 2, expected a divisor of C, the I of weights, = 3 (3 % 2 = 1)
func.func @f(%a: tensor<1x4x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX", groups = 2} : (tensor<1x4x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C4: O of weights is not the channel count
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] weights O: given 4 (weights [3, 4, 3] read as IOX), expected 2, the channels of diff_dst [1, 2, 7] (NCX: axis 1)
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x4x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x4x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C4: with groups the weights fit neither layout
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] weights O: given 3 (weights [6, 3, 3] read as IOX), expected O/groups = 4/2 = 2 (weights like [6, 2, 3]) or, in the page's layout, O = 4 (weights like [3, 4, 3])
func.func @f(%a: tensor<1x4x7xf32>, %b: tensor<6x3x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX", groups = 2} : (tensor<1x4x7xf32>, tensor<6x3x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C5: a kernel larger than the padded diff_dst
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] axis W: kernel extent (9-1)*1+1 = 9 exceeds the padded size 7+0+0 = 7
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x9xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x9xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C6: output_padding not below the stride
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:164: error: [ConvTransposeBackwardData "dx"] output_padding axis W: given 1, expected less than the stride 1
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX", output_padding = [1]} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C6: output_padding with which the forward op does not give Y
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:164: error: [ConvTransposeBackwardData "dx"] output_padding axis W: forward gives 2*(3-1) + 3 - 0 + 1 = 8, diff_dst has 7: given 1, expected 0
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX", output_padding = [1]} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C7: a declared size
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] diff_src axis W: given 6 [1, 3, 6], expected (7 + 0 + 0 - 3) div 1 + 1 = 5 [1, 3, 5]
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C7: a declared batch
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] diff_src axis N: given 2 [2, 3, 5], expected 1, the batch of diff_dst [1, 3, 5]
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<2x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C7: a declared channel count
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] diff_src axis C: given 2 [1, 2, 5], expected 3, the I of weights [1, 3, 5]
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x2x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data C7: a declared rank
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] rank of diff_src: given [1, 3], expected 3
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data form: a shape input, which this op does not have
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ConvTransposeBackwardData "dx"] number of inputs: given 3, expected 2; this op has no shape input: its sizes follow from diff_dst
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>, %c: tensor<3xi32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b, %c {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>, tensor<3xi32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data form: dst_shape, which this op does not have
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:164: error: [ConvTransposeBackwardData "dx"] unknown attribute dst_shape: expected one of weights_format, strides, pads_begin, pads_end, dilations, auto_pad, output_padding, groups, data_format, auto_pad_rule; dst_shape belongs to ConvolutionBackwardData: here the sizes follow from diff_dst
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX", dst_shape = [1, 3, 5]} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.conv_transpose_backward_data form: the weights format of the other op
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:119: error: [ConvTransposeBackwardData "dx"] attribute weights_format: given "OIX", expected one of IOX, XOI; ConvTranspose uses IOX and XOI; the newer page that lists OIX and XIO is in error
func.func @f(%a: tensor<1x2x7xf32>, %b: tensor<3x2x3xf32>) {
  %dx = onednn.conv_transpose_backward_data %a, %b {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_format = "OIX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return
}

// -----

// onednn.interpolate_backward C1: two dtypes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] dtypes differ: given src f32, diff_dst bf16, expected the same on all ports
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xbf16>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xbf16>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C1: no float
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] dtype of src: given s32, expected one of f32, bf16, f16
func.func @f(%a: tensor<1x2x4xi32>, %b: tensor<1x2x6xi32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xi32>, tensor<1x2x6xi32>) -> tensor<1x2x4xi32>
  func.return
}

// -----

// onednn.interpolate_backward C1: sizes are s32
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:66: error: [InterpolateBackward "dx"] dtype of sizes: given s64, expected s32
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>, %c: tensor<1xi64>) {
  %dx = onednn.interpolate_backward %a, %b, %c {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C1: sizes are a vector with an entry per spatial axis
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:66: error: [InterpolateBackward "dx"] shape of sizes: given [3], expected [1]
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>, %c: tensor<3xi32>) {
  %dx = onednn.interpolate_backward %a, %b, %c {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>, tensor<3xi32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C2: rank below 3
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] rank of src: given 2 [1, 2], expected 3 to 5
func.func @f(%a: tensor<1x2xf32>, %b: tensor<1x2xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return
}

// -----

// onednn.interpolate_backward C2: ranks that differ
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] ranks differ: given src [1, 2, 4], diff_dst [1, 2, 6, 6], expected equal ranks
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C3: batches that differ
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] axis N (axis 0 of NCX) differs: given src 1, diff_dst 2, expected equal
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<2x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<2x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C3: channels that differ, because the default format was not meant
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] axis C (axis 3 of NXC) differs: given src 4, diff_dst 6, expected equal
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x6x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6, 6]} : (tensor<1x2x4x4xf32>, tensor<1x2x6x6xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C4: a size that is not positive
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] src axis W: given 0, expected a positive size
func.func @f(%a: tensor<1x2x0xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x0xf32>, tensor<1x2x6xf32>) -> tensor<1x2x0xf32>
  func.return
}

// -----

// onednn.interpolate_backward C4: a zero in sizes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:62: error: [InterpolateBackward "dx"] sizes axis W: given 0, expected a positive size
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x?xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [0], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x?xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C4: a scale that is not positive
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:62: error: [InterpolateBackward "dx"] scales axis W: given -1.5, expected positive and finite
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", scales = [-1.5], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C5: neither sizes nor scales
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] the size of diff_dst is not given: expected one of: the sizes attribute, the scales attribute, the sizes input
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C6: sizes that disagree with diff_dst
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:62: error: [InterpolateBackward "dx"] sizes axis W: given 5, expected 6, that of diff_dst
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [5], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C6: sizes with N and C
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:62: error: [InterpolateBackward "dx"] length of sizes: given 3, expected 1, one value per spatial axis
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [1, 2, 6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C6: scales that disagree with diff_dst
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:62: error: [InterpolateBackward "dx"] scales axis W: given 2: trunc(4 * 2) = 8, expected 6, that of diff_dst
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", scales = [2.0], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C6: a scale too many
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:62: error: [InterpolateBackward "dx"] length of scales: given 2, expected 1, one value per spatial axis
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", scales = [1.5, 1.5], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward C6: a constant sizes input that disagrees
// CHECK: ops_invalid.mlir:[[# @LINE + 3]]:3: error: [InterpolateBackward "dx"] the sizes input axis W: given 5, expected 6, that of diff_dst
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %c = onnx.Constant dense<5> : tensor<1xi32>
  %dx = onednn.interpolate_backward %a, %b, %c {mode = "linear", data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>, tensor<1xi32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward result: the shape of src
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] shape of diff_src: given [1, 2, 6], expected [1, 2, 4], that of src
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  func.return
}

// -----

// onednn.interpolate_backward form: no mode
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] attribute mode is missing: expected one of nearest, linear, bilinear, trilinear
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {sizes = [6]} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward form: a mode that is none
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:45: error: [InterpolateBackward "dx"] attribute mode: given "cubic", expected one of nearest, linear, bilinear, trilinear
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "cubic", sizes = [6]} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward form: a coordinate rule of another op
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:75: error: [InterpolateBackward "dx"] attribute coordinate_transformation_mode: given "asymmetric", expected one of half_pixel, align_corners; ResizeBilinearV2Grad has the asymmetric rule
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "linear", sizes = [6], coordinate_transformation_mode = "asymmetric"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// onednn.interpolate_backward form: a rounding that defines its own coordinate rule
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:97: error: [InterpolateBackward "dx"] nearest_rounding pytorch_nearest defines its own coordinate rule: given coordinate_transformation_mode align_corners, expected half_pixel
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x6xf32>) {
  %dx = onednn.interpolate_backward %a, %b {mode = "nearest", sizes = [6], data_format = "NCX", nearest_rounding = "pytorch_nearest", coordinate_transformation_mode = "align_corners"} : (tensor<1x2x4xf32>, tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  func.return
}
