// RUN: gradc-opt %s -p lower-onednn,simplify | filecheck %s

// 1: the residue is (6 + 1 + 1 - 3) mod 2 = 1.
func.func @convolution(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x6x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], groups = 2, data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
  func.return %dx : tensor<1x6x6xf32>
}
// CHECK-LABEL: func.func @convolution(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], residue = [1], groups = 2, layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x6x6xf32>

// 1: pads of auto_pad, where nobody resolved it before: total 2 (3 - 1) + 3 - 6 = 1, the page's same_lower ends with it.
func.func @auto_pad(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x6x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], auto_pad = "same_lower", groups = 2, data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
  func.return %dx : tensor<1x6x6xf32>
}
// CHECK-LABEL: func.func @auto_pad(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [1], residue = [0], groups = 2, layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x6x6xf32>

// 2: the full extent s (Y - 1) + Ke = 7, and the window that begins behind the pads.
func.func @runtime_size(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<3xi32>) -> tensor<1x6x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], groups = 2, data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>, tensor<3xi32>) -> tensor<1x6x?xf32>
  func.return %dx : tensor<1x6x?xf32>
}
// CHECK-LABEL: func.func @runtime_size(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 2, layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: %dx_1 = onnx.Cast %s {to = i64} : (tensor<3xi32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = grad.take_window %dx, %dx_4, %dx_3 {axes = [2]} : (tensor<1x6x7xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x6x?xf32>
// CHECK-NEXT: func.return %dx_5 : tensor<1x6x?xf32>

func.func @runtime_same_upper_documented(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<3xi32>) -> tensor<1x6x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], auto_pad = "same_upper", groups = 2, auto_pad_rule = "documented", data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>, tensor<3xi32>) -> tensor<1x6x?xf32>
  func.return %dx : tensor<1x6x?xf32>
}
// CHECK-LABEL: func.func @runtime_same_upper_documented(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 2, layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: %dx_1 = onnx.Cast %s {to = i64} : (tensor<3xi32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant dense<7> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Sub %dx_4, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Max %dx_5, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Div %dx_7, %dx_2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Sub %dx_7, %dx_8 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_10 = grad.take_window %dx, %dx_9, %dx_3 {axes = [2]} : (tensor<1x6x7xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x6x?xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<1x6x?xf32>

func.func @runtime_same_lower_documented(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<3xi32>) -> tensor<1x6x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], auto_pad = "same_lower", groups = 2, auto_pad_rule = "documented", data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>, tensor<3xi32>) -> tensor<1x6x?xf32>
  func.return %dx : tensor<1x6x?xf32>
}
// CHECK-LABEL: func.func @runtime_same_lower_documented(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 2, layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: %dx_1 = onnx.Cast %s {to = i64} : (tensor<3xi32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant dense<7> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Sub %dx_4, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Max %dx_5, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Div %dx_7, %dx_2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = grad.take_window %dx, %dx_8, %dx_3 {axes = [2]} : (tensor<1x6x7xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x6x?xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<1x6x?xf32>

func.func @runtime_same_upper_library(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<3xi32>) -> tensor<1x6x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], auto_pad = "same_upper", groups = 2, auto_pad_rule = "library", data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>, tensor<3xi32>) -> tensor<1x6x?xf32>
  func.return %dx : tensor<1x6x?xf32>
}
// CHECK-LABEL: func.func @runtime_same_upper_library(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 2, layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: %dx_1 = onnx.Cast %s {to = i64} : (tensor<3xi32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Sub %dx_3, %dx_4 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Div %dx_5, %dx_2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Mul %dx_2, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Sub %dx_3, %dx_7 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Sub %dx_9, %dx_8 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Max %dx_10, %dx_11 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Div %dx_12, %dx_2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = grad.take_window %dx, %dx_13, %dx_3 {axes = [2]} : (tensor<1x6x7xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x6x?xf32>
// CHECK-NEXT: func.return %dx_14 : tensor<1x6x?xf32>

func.func @runtime_same_lower_library(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>, %s: tensor<3xi32>) -> tensor<1x6x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], auto_pad = "same_lower", groups = 2, auto_pad_rule = "library", data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>, tensor<3xi32>) -> tensor<1x6x?xf32>
  func.return %dx : tensor<1x6x?xf32>
}
// CHECK-LABEL: func.func @runtime_same_lower_library(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 2, layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: %dx_1 = onnx.Cast %s {to = i64} : (tensor<3xi32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Sub %dx_3, %dx_4 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Div %dx_5, %dx_2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Mul %dx_2, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Sub %dx_3, %dx_7 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Sub %dx_9, %dx_8 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Max %dx_10, %dx_11 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Div %dx_12, %dx_2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Sub %dx_12, %dx_13 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_15 = grad.take_window %dx, %dx_14, %dx_3 {axes = [2]} : (tensor<1x6x7xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x6x?xf32>
// CHECK-NEXT: func.return %dx_15 : tensor<1x6x?xf32>

// 2: a known X whose pads need an unknown Y.
func.func @unknown_y(%dy: tensor<1x4x?xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x6x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], auto_pad = "same_upper", groups = 2, data_format = "NCX", weights_format = "OIX"} : (tensor<1x4x?xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
  func.return %dx : tensor<1x6x6xf32>
}
// CHECK-LABEL: func.func @unknown_y(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 2, layout = "NCX"} : (tensor<1x4x?xf32>, tensor<4x3x3xf32>) -> tensor<1x6x?xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Shape %dy : (tensor<1x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx_2, %dx_3 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Mul %dx_4, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Add %dx_5, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Sub %dx_7, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Max %dx_8, %dx_9 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Div %dx_10, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Sub %dx_10, %dx_11 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = grad.take_window %dx, %dx_12, %dx_1 {axes = [2]} : (tensor<1x6x?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x6x6xf32>
// CHECK-NEXT: func.return %dx_13 : tensor<1x6x6xf32>

// Layouts are another pass's work.
func.func @nxc(%dy: tensor<1x3x4xf32>, %w: tensor<4x6x3xf32>) -> tensor<1x5x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_format = "OIX"} : (tensor<1x3x4xf32>, tensor<4x6x3xf32>) -> tensor<1x5x6xf32>
  func.return %dx : tensor<1x5x6xf32>
}
// CHECK-LABEL: func.func @nxc(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 1, layout = "NXC"} : (tensor<1x3x4xf32>, tensor<4x6x3xf32>) -> tensor<1x5x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x5x6xf32>

// 3
func.func @conv_transpose(%dy: tensor<1x4x7xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x7xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  func.return %dx : tensor<1x6x3xf32>
}
// CHECK-LABEL: func.func @conv_transpose(
// CHECK-NEXT: %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x6x3xf32>

// 4: the pads are computed from the size of diff_dst.
func.func @unknown_same_upper_documented(%dy: tensor<1x4x?xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x?xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", groups = 2, auto_pad_rule = "documented", data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x?xf32>, tensor<6x2x3xf32>) -> tensor<1x6x?xf32>
  func.return %dx : tensor<1x6x?xf32>
}
// CHECK-LABEL: func.func @unknown_same_upper_documented(
// CHECK-NEXT: %dx = onnx.Shape %dy : (tensor<1x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Sub %dx_2, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Div %dx_4, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Mul %dx_1, %dx_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Sub %dx_2, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Sub %dx_8, %dx_7 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Max %dx_9, %dx_10 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Div %dx_11, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Sub %dx_11, %dx_12 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Sub %dx_11, %dx_13 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_15 = onnx.Constant dense<0> : tensor<2xi64>
// CHECK-NEXT: %dx_16 = onnx.Concat %dx_15, %dx_13, %dx_15, %dx_14 {axis = 0} : (tensor<2xi64>, tensor<1xi64>, tensor<2xi64>, tensor<1xi64>) -> tensor<6xi64>
// CHECK-NEXT: %dx_17 = onnx.Pad %dy, %dx_16 : (tensor<1x4x?xf32>, tensor<6xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %dx_18 = grad.conv_transpose_backward_data %dx_17, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<1x4x?xf32>, tensor<6x2x3xf32>) -> tensor<1x6x?xf32>
// CHECK-NEXT: func.return %dx_18 : tensor<1x6x?xf32>

// 4: the pads are computed from the size of diff_dst.
func.func @unknown_same_upper_library(%dy: tensor<1x4x?xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x?xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", groups = 2, auto_pad_rule = "library", data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x?xf32>, tensor<6x2x3xf32>) -> tensor<1x6x?xf32>
  func.return %dx : tensor<1x6x?xf32>
}
// CHECK-LABEL: func.func @unknown_same_upper_library(
// CHECK-NEXT: %dx = onnx.Shape %dy : (tensor<1x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Sub %dx_2, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Div %dx_4, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Mul %dx_1, %dx_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Sub %dx_2, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Sub %dx_8, %dx_7 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Max %dx_9, %dx_10 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Div %dx_11, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Sub %dx_11, %dx_12 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Constant dense<0> : tensor<2xi64>
// CHECK-NEXT: %dx_15 = onnx.Concat %dx_14, %dx_12, %dx_14, %dx_13 {axis = 0} : (tensor<2xi64>, tensor<1xi64>, tensor<2xi64>, tensor<1xi64>) -> tensor<6xi64>
// CHECK-NEXT: %dx_16 = onnx.Pad %dy, %dx_15 : (tensor<1x4x?xf32>, tensor<6xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %dx_17 = grad.conv_transpose_backward_data %dx_16, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<1x4x?xf32>, tensor<6x2x3xf32>) -> tensor<1x6x?xf32>
// CHECK-NEXT: func.return %dx_17 : tensor<1x6x?xf32>

// 5: the axes are where the layout has them; steps are X / Y in lowest terms.
func.func @linear_nxc(%x: tensor<1x4x3x2xf32>, %dy: tensor<1x6x4x2xf32>) -> tensor<1x4x3x2xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "bilinear", sizes = [6, 4]} : (tensor<1x4x3x2xf32>, tensor<1x6x4x2xf32>) -> tensor<1x4x3x2xf32>
  func.return %dx : tensor<1x4x3x2xf32>
}
// CHECK-LABEL: func.func @linear_nxc(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [4, 3], step_numerators = [2, 3], step_denominators = [3, 4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x6x4x2xf32>) -> tensor<1x4x3x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x4x3x2xf32>

// The step of align_corners is (X - 1) / (Y - 1).
func.func @align_corners(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x7xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", coordinate_transformation_mode = "align_corners", sizes = [7], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @align_corners(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>

// And 0 where Y = 1.
func.func @align_corners_one(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x1xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", coordinate_transformation_mode = "align_corners", sizes = [1], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @align_corners_one(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [0], step_denominators = [1], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>

func.func @nearest_exact(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x7xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", sizes = [7], data_format = "NCX", nearest_rounding = "exact"} : (tensor<1x2x4xf32>, tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @nearest_exact(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [7], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>

func.func @nearest_pytorch_nearest(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x7xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", sizes = [7], data_format = "NCX", nearest_rounding = "pytorch_nearest"} : (tensor<1x2x4xf32>, tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @nearest_pytorch_nearest(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [7], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>

func.func @nearest_onnx_prefer_floor(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x7xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", sizes = [7], data_format = "NCX", nearest_rounding = "onnx_prefer_floor"} : (tensor<1x2x4xf32>, tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @nearest_onnx_prefer_floor(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [7], interpolation = "nearest_half_down", coordinates = "half_pixel"} : (tensor<1x2x7xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>

// An axis whose sizes are equal is none of the op's.
func.func @identity_axis(%x: tensor<1x2x4x3xf32>, %dy: tensor<1x2x6x3xf32>) -> tensor<1x2x4x3xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", sizes = [6, 3], data_format = "NCX"} : (tensor<1x2x4x3xf32>, tensor<1x2x6x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %dx : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @identity_axis(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [2], step_denominators = [3], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x6x3xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4x3xf32>

// Equal sizes all over are nothing at all.
func.func @identity(%x: tensor<1x2x4xf32>, %dy: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [4], data_format = "NCX"} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @identity(
// CHECK-NEXT: func.return %dy : tensor<1x2x4xf32>

// Run-time sizes: the known axis first, by itself.
func.func @dynamic(%x: tensor<1x2x4x?xf32>, %dy: tensor<1x2x6x?xf32>) -> tensor<1x2x4x?xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", scales = [1.5, 2.0], data_format = "NCX"} : (tensor<1x2x4x?xf32>, tensor<1x2x6x?xf32>) -> tensor<1x2x4x?xf32>
  func.return %dx : tensor<1x2x4x?xf32>
}
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [2], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x?xf32>) -> tensor<1x2x4x?xf32>
// CHECK-NEXT: %dx_1 = onnx.Shape %x : (tensor<1x2x4x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Shape %dx : (tensor<1x2x4x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %dx_4, %dx_2 {axis = 0} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = grad.resize_backward_dynamic %dx, %dx_3, %dx_3, %dx_5 {axes = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x4x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x4x?xf32>
// CHECK-NEXT: func.return %dx_6 : tensor<1x2x4x?xf32>

func.func @dynamic_align_corners(%x: tensor<1x2x?xf32>, %dy: tensor<1x2x?xf32>, %s: tensor<1xi32>) -> tensor<1x2x?xf32> {
  %dx = onednn.interpolate_backward %x, %dy, %s {mode = "linear", coordinate_transformation_mode = "align_corners", data_format = "NCX"} : (tensor<1x2x?xf32>, tensor<1x2x?xf32>, tensor<1xi32>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @dynamic_align_corners(
// CHECK-NEXT: %dx = onnx.Shape %x : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Shape %dy : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx_3, %dx_1 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Sub %dx_4, %dx_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Sub %dx_2, %dx_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Max %dx_6, %dx_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = grad.resize_backward_dynamic %dy, %dx_2, %dx_7, %dx_8 {axes = [2], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<1x2x?xf32>

// The data keeps its layout: sizes, windows and pads are on its spatial axes.
func.func @convolution_NXC(%dy: tensor<1x3x4xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x6x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], groups = 2, data_format = "NXC", weights_format = "OIX"} : (tensor<1x3x4xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
  func.return %dx : tensor<1x6x6xf32>
}
// CHECK-LABEL: func.func @convolution_NXC(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], residue = [1], groups = 2, layout = "NXC"} : (tensor<1x3x4xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x6x6xf32>

func.func @runtime_size_NXC(%dy: tensor<1x3x4xf32>, %w: tensor<4x3x3xf32>, %s: tensor<3xi32>) -> tensor<1x?x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w, %s {strides = [2], pads_begin = [1], pads_end = [1], dilations = [1], groups = 2, data_format = "NXC", weights_format = "OIX"} : (tensor<1x3x4xf32>, tensor<4x3x3xf32>, tensor<3xi32>) -> tensor<1x?x6xf32>
  func.return %dx : tensor<1x?x6xf32>
}
// CHECK-LABEL: func.func @runtime_size_NXC(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], residue = [0], groups = 2, layout = "NXC"} : (tensor<1x3x4xf32>, tensor<4x3x3xf32>) -> tensor<1x7x6xf32>
// CHECK-NEXT: %dx_1 = onnx.Cast %s {to = i64} : (tensor<3xi32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = grad.take_window %dx, %dx_2, %dx_3 {axes = [1]} : (tensor<1x7x6xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?x6xf32>
// CHECK-NEXT: func.return %dx_4 : tensor<1x?x6xf32>

func.func @conv_transpose_NXC(%dy: tensor<1x5x4xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x5x6xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [1], pads_end = [1], dilations = [1], data_format = "NXC", weights_format = "IOX"} : (tensor<1x5x4xf32>, tensor<6x4x3xf32>) -> tensor<1x5x6xf32>
  func.return %dx : tensor<1x5x6xf32>
}
// CHECK-LABEL: func.func @conv_transpose_NXC(
// CHECK-NEXT: %dx = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x4xf32>, tensor<6x4x3xf32>) -> tensor<1x5x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x5x6xf32>

func.func @runtime_pads_NXC(%dy: tensor<1x?x4xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x?x6xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", data_format = "NXC", weights_format = "IOX"} : (tensor<1x?x4xf32>, tensor<6x4x3xf32>) -> tensor<1x?x6xf32>
  func.return %dx : tensor<1x?x6xf32>
}
// CHECK-LABEL: func.func @runtime_pads_NXC(
// CHECK-NEXT: %dx = onnx.Shape %dy : (tensor<1x?x4xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Sub %dx_2, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Div %dx_4, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Mul %dx_3, %dx_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Sub %dx_2, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Sub %dx_8, %dx_7 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Max %dx_9, %dx_10 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Div %dx_11, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Sub %dx_11, %dx_12 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Sub %dx_11, %dx_13 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_15 = onnx.Concat %dx_10, %dx_13, %dx_10, %dx_10, %dx_14, %dx_10 {axis = 0} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xi64>
// CHECK-NEXT: %dx_16 = onnx.Pad %dy, %dx_15 : (tensor<1x?x4xf32>, tensor<6xi64>) -> tensor<1x?x4xf32>
// CHECK-NEXT: %dx_17 = grad.conv_transpose_backward_data %dx_16, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NXC"} : (tensor<1x?x4xf32>, tensor<6x4x3xf32>) -> tensor<1x?x6xf32>
// CHECK-NEXT: func.return %dx_17 : tensor<1x?x6xf32>
