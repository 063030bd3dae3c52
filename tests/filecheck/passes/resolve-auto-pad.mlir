// RUN: gradc-opt %s -p resolve-auto-pad | filecheck %s

// ConvolutionBackwardData, X = 6, Y = 3, K = 3, s = 2: both rules have the odd total 1, of which
// each puts the one where the other does not.

func.func @same_upper_documented(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "documented", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @same_upper_documented(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

func.func @same_lower_documented(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_lower", auto_pad_rule = "documented", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @same_lower_documented(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

func.func @same_upper_library(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "library", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @same_upper_library(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

func.func @same_lower_library(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_lower", auto_pad_rule = "library", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @same_lower_library(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

func.func @given_pads_are_ignored(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [3], pads_end = [3], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "library", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @given_pads_are_ignored(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

func.func @none(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], auto_pad = "none", output_padding = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @none(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

func.func @valid(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x7xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [5], pads_end = [5], dilations = [1], auto_pad = "valid", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
  func.return %dx : tensor<1x1x7xf32>
}
// CHECK-LABEL: func.func @valid(
// CHECK-SAME: -> tensor<1x1x7xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x7xf32>

// The page's total is s (Y - 1) + Ke - X + output_padding = 4 + 3 - 6 + 1 = 2.
func.func @output_padding_enters_the_total(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_lower", output_padding = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @output_padding_enters_the_total(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

// The library's is max(0, Ke - s) = 1, whatever output_padding says.
func.func @not_by_the_library(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_lower", auto_pad_rule = "library", output_padding = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @not_by_the_library(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

// 4 + 1 - 6 = -1 is clamped: the residue 1 absorbs it.
func.func @negative_total(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x1xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x1xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @negative_total(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x1xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

// A size that compile time knows is the result's type, and said nowhere else.
func.func @dst_shape_attribute(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<?x?x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "library", dst_shape = [1, 1, 6], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<?x?x?xf32>
  func.return %dx : tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @dst_shape_attribute(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

// X mod s = 1: the total is Ke - 1 = 2.
func.func @dst_shape_constant(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x?xf32> {
  %s = onnx.Constant dense<[1, 1, 5]> : tensor<3xi32>
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "library", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, tensor<3xi32>) -> tensor<1x1x?xf32>
  func.return %dx : tensor<1x1x?xf32>
}
// CHECK-LABEL: func.func @dst_shape_constant(
// CHECK-SAME: -> tensor<1x1x5xf32>
// CHECK-NEXT: %s = onnx.Constant dense<[1, 1, 5]> : tensor<3xi32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x5xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x5xf32>

func.func @input_precedes_attribute(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x?xf32> {
  %s = onnx.Constant dense<[1, 1, 8]> : tensor<3xi32>
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "valid", dst_shape = [1, 1, 7], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, tensor<3xi32>) -> tensor<1x1x?xf32>
  func.return %dx : tensor<1x1x?xf32>
}
// CHECK-LABEL: func.func @input_precedes_attribute(
// CHECK-SAME: -> tensor<1x1x8xf32>
// CHECK-NEXT: %s = onnx.Constant dense<[1, 1, 8]> : tensor<3xi32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x8xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x8xf32>

// What depends on a run-time value stays as it is.
func.func @runtime_shape(%dy: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>, %s: tensor<3xi32>) -> tensor<1x1x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, tensor<3xi32>) -> tensor<1x1x?xf32>
  func.return %dx : tensor<1x1x?xf32>
}
// CHECK-LABEL: func.func @runtime_shape(
// CHECK-SAME: -> tensor<1x1x?xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>, tensor<3xi32>) -> tensor<1x1x?xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x?xf32>

// The library's total is one of X alone.
func.func @library_needs_no_y(%dy: tensor<1x1x?xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "library", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  func.return %dx : tensor<1x1x6xf32>
}
// CHECK-LABEL: func.func @library_needs_no_y(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

// The page's needs Y; the size is known all the same.
func.func @documented_needs_y(%dy: tensor<1x1x?xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", dst_shape = [1, 1, 6], data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
  func.return %dx : tensor<1x1x?xf32>
}
// CHECK-LABEL: func.func @documented_needs_y(
// CHECK-SAME: -> tensor<1x1x6xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", data_format = "NCX", weights_format = "OIX"} : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x6xf32>

// ConvTransposeBackwardData is a forward convolution over Y = 6: total 1 again.

func.func @transpose_same_upper_documented(%dy: tensor<1x1x6xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "documented", data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  func.return %dx : tensor<1x1x3xf32>
}
// CHECK-LABEL: func.func @transpose_same_upper_documented(
// CHECK-SAME: -> tensor<1x1x3xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x3xf32>

func.func @transpose_same_lower_documented(%dy: tensor<1x1x6xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_lower", auto_pad_rule = "documented", data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  func.return %dx : tensor<1x1x3xf32>
}
// CHECK-LABEL: func.func @transpose_same_lower_documented(
// CHECK-SAME: -> tensor<1x1x3xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x3xf32>

func.func @transpose_same_upper_library(%dy: tensor<1x1x6xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "library", data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  func.return %dx : tensor<1x1x3xf32>
}
// CHECK-LABEL: func.func @transpose_same_upper_library(
// CHECK-SAME: -> tensor<1x1x3xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x3xf32>

func.func @transpose_same_lower_library(%dy: tensor<1x1x6xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_lower", auto_pad_rule = "library", data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  func.return %dx : tensor<1x1x3xf32>
}
// CHECK-LABEL: func.func @transpose_same_lower_library(
// CHECK-SAME: -> tensor<1x1x3xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x3xf32>

func.func @transpose_none(%dy: tensor<1x1x6xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [2], pads_end = [0], dilations = [1], auto_pad = "none", data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  func.return %dx : tensor<1x1x3xf32>
}
// CHECK-LABEL: func.func @transpose_none(
// CHECK-SAME: -> tensor<1x1x3xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [2], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x3xf32>

func.func @transpose_valid(%dy: tensor<1x1x6xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [2], pads_end = [2], dilations = [1], auto_pad = "valid", output_padding = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  func.return %dx : tensor<1x1x2xf32>
}
// CHECK-LABEL: func.func @transpose_valid(
// CHECK-SAME: -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x2xf32>

func.func @transpose_unknown(%dy: tensor<1x1x?xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x?xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
  func.return %dx : tensor<1x1x?xf32>
}
// CHECK-LABEL: func.func @transpose_unknown(
// CHECK-SAME: -> tensor<1x1x?xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", data_format = "NCX", weights_format = "IOX"} : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
// CHECK-NEXT: func.return %dx : tensor<1x1x?xf32>
