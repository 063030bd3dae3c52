// RUN: gradc-opt %s -p canonicalize-layout | filecheck %s

// ConvolutionBackwardData: N = 2, O = 4, Y = (5, 7), K = (3, 2), C = 3, X = (11, 6).

func.func @convolution_NCX_OIX(%dy: tensor<2x4x5x7xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<2x3x11x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NCX", weights_format = "OIX"} : (tensor<2x4x5x7xf32>, tensor<4x3x3x2xf32>) -> tensor<2x3x11x6xf32>
  func.return %dx : tensor<2x3x11x6xf32>
}
// CHECK-LABEL: func.func @convolution_NCX_OIX(
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NCX", weights_format = "OIX"} : (tensor<2x4x5x7xf32>, tensor<4x3x3x2xf32>) -> tensor<2x3x11x6xf32>
// CHECK-NEXT: func.return %dx : tensor<2x3x11x6xf32>

func.func @convolution_NCX_XIO(%dy: tensor<2x4x5x7xf32>, %w: tensor<3x2x3x4xf32>) -> tensor<2x3x11x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NCX", weights_format = "XIO"} : (tensor<2x4x5x7xf32>, tensor<3x2x3x4xf32>) -> tensor<2x3x11x6xf32>
  func.return %dx : tensor<2x3x11x6xf32>
}
// CHECK-LABEL: func.func @convolution_NCX_XIO(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [3, 2, 0, 1]} : (tensor<3x2x3x4xf32>) -> tensor<4x3x3x2xf32>
// CHECK-NEXT: %dx_1 = onednn.convolution_backward_data %dy, %dx {weights_format = "OIX", strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NCX"} : (tensor<2x4x5x7xf32>, tensor<4x3x3x2xf32>) -> tensor<2x3x11x6xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<2x3x11x6xf32>

func.func @convolution_NXC_OIX(%dy: tensor<2x5x7x4xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<2x11x6x3xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NXC", weights_format = "OIX"} : (tensor<2x5x7x4xf32>, tensor<4x3x3x2xf32>) -> tensor<2x11x6x3xf32>
  func.return %dx : tensor<2x11x6x3xf32>
}
// CHECK-LABEL: func.func @convolution_NXC_OIX(
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NXC", weights_format = "OIX"} : (tensor<2x5x7x4xf32>, tensor<4x3x3x2xf32>) -> tensor<2x11x6x3xf32>
// CHECK-NEXT: func.return %dx : tensor<2x11x6x3xf32>

func.func @convolution_NXC_XIO(%dy: tensor<2x5x7x4xf32>, %w: tensor<3x2x3x4xf32>) -> tensor<2x11x6x3xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NXC", weights_format = "XIO"} : (tensor<2x5x7x4xf32>, tensor<3x2x3x4xf32>) -> tensor<2x11x6x3xf32>
  func.return %dx : tensor<2x11x6x3xf32>
}
// CHECK-LABEL: func.func @convolution_NXC_XIO(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [3, 2, 0, 1]} : (tensor<3x2x3x4xf32>) -> tensor<4x3x3x2xf32>
// CHECK-NEXT: %dx_1 = onednn.convolution_backward_data %dy, %dx {weights_format = "OIX", strides = [2, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1], data_format = "NXC"} : (tensor<2x5x7x4xf32>, tensor<4x3x3x2xf32>) -> tensor<2x11x6x3xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<2x11x6x3xf32>

// ConvTransposeBackwardData: N = 2, O = 4, Y = 9, K = 3, C = 5, X = 7.

func.func @conv_transpose_NCX_IOX(%dy: tensor<2x4x9xf32>, %w: tensor<5x4x3xf32>) -> tensor<2x5x7xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<2x4x9xf32>, tensor<5x4x3xf32>) -> tensor<2x5x7xf32>
  func.return %dx : tensor<2x5x7xf32>
}
// CHECK-LABEL: func.func @conv_transpose_NCX_IOX(
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<2x4x9xf32>, tensor<5x4x3xf32>) -> tensor<2x5x7xf32>
// CHECK-NEXT: func.return %dx : tensor<2x5x7xf32>

func.func @conv_transpose_NCX_XOI(%dy: tensor<2x4x9xf32>, %w: tensor<3x4x5xf32>) -> tensor<2x5x7xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "XOI"} : (tensor<2x4x9xf32>, tensor<3x4x5xf32>) -> tensor<2x5x7xf32>
  func.return %dx : tensor<2x5x7xf32>
}
// CHECK-LABEL: func.func @conv_transpose_NCX_XOI(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [2, 1, 0]} : (tensor<3x4x5xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %dx_1 = onednn.conv_transpose_backward_data %dy, %dx {weights_format = "IOX", strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX"} : (tensor<2x4x9xf32>, tensor<5x4x3xf32>) -> tensor<2x5x7xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<2x5x7xf32>

func.func @conv_transpose_NXC_IOX(%dy: tensor<2x9x4xf32>, %w: tensor<5x4x3xf32>) -> tensor<2x7x5xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NXC", weights_format = "IOX"} : (tensor<2x9x4xf32>, tensor<5x4x3xf32>) -> tensor<2x7x5xf32>
  func.return %dx : tensor<2x7x5xf32>
}
// CHECK-LABEL: func.func @conv_transpose_NXC_IOX(
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NXC", weights_format = "IOX"} : (tensor<2x9x4xf32>, tensor<5x4x3xf32>) -> tensor<2x7x5xf32>
// CHECK-NEXT: func.return %dx : tensor<2x7x5xf32>

func.func @conv_transpose_NXC_XOI(%dy: tensor<2x9x4xf32>, %w: tensor<3x4x5xf32>) -> tensor<2x7x5xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NXC", weights_format = "XOI"} : (tensor<2x9x4xf32>, tensor<3x4x5xf32>) -> tensor<2x7x5xf32>
  func.return %dx : tensor<2x7x5xf32>
}
// CHECK-LABEL: func.func @conv_transpose_NXC_XOI(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [2, 1, 0]} : (tensor<3x4x5xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %dx_1 = onednn.conv_transpose_backward_data %dy, %dx {weights_format = "IOX", strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NXC"} : (tensor<2x9x4xf32>, tensor<5x4x3xf32>) -> tensor<2x7x5xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<2x7x5xf32>

// With 2 groups and O = 4, C = 6 the library has (C, O / 2, K) = (6, 2, 3), the page (C / 2, O, K) = (3, 4, 3).
func.func @library_groups(%dy: tensor<2x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<2x6x7xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX", weights_format = "IOX"} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x7xf32>
  func.return %dx : tensor<2x6x7xf32>
}
// CHECK-LABEL: func.func @library_groups(
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX", weights_format = "IOX"} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x7xf32>
// CHECK-NEXT: func.return %dx : tensor<2x6x7xf32>

func.func @page_groups(%dy: tensor<2x4x9xf32>, %w: tensor<3x4x3xf32>) -> tensor<2x6x7xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX", weights_format = "IOX"} : (tensor<2x4x9xf32>, tensor<3x4x3xf32>) -> tensor<2x6x7xf32>
  func.return %dx : tensor<2x6x7xf32>
}
// CHECK-LABEL: func.func @page_groups(
// CHECK-NEXT: %dx = onnx.Constant dense<[3, 2, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<[6, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Reshape %w, %dx : (tensor<3x4x3xf32>, tensor<4xi64>) -> tensor<3x2x2x3xf32>
// CHECK-NEXT: %dx_3 = onnx.Transpose %dx_2 {perm = [1, 0, 2, 3]} : (tensor<3x2x2x3xf32>) -> tensor<2x3x2x3xf32>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_3, %dx_1 : (tensor<2x3x2x3xf32>, tensor<3xi64>) -> tensor<6x2x3xf32>
// CHECK-NEXT: %dx_5 = onednn.conv_transpose_backward_data %dy, %dx_4 {weights_format = "IOX", strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX"} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x7xf32>
// CHECK-NEXT: func.return %dx_5 : tensor<2x6x7xf32>

func.func @page_groups_XOI(%dy: tensor<2x9x4xf32>, %w: tensor<3x4x3xf32>) -> tensor<2x7x6xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2} : (tensor<2x9x4xf32>, tensor<3x4x3xf32>) -> tensor<2x7x6xf32>
  func.return %dx : tensor<2x7x6xf32>
}
// CHECK-LABEL: func.func @page_groups_XOI(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [2, 1, 0]} : (tensor<3x4x3xf32>) -> tensor<3x4x3xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<[3, 2, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<[6, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Reshape %dx, %dx_1 : (tensor<3x4x3xf32>, tensor<4xi64>) -> tensor<3x2x2x3xf32>
// CHECK-NEXT: %dx_4 = onnx.Transpose %dx_3 {perm = [1, 0, 2, 3]} : (tensor<3x2x2x3xf32>) -> tensor<2x3x2x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Reshape %dx_4, %dx_2 : (tensor<2x3x2x3xf32>, tensor<3xi64>) -> tensor<6x2x3xf32>
// CHECK-NEXT: %dx_6 = onednn.conv_transpose_backward_data %dy, %dx_5 {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, weights_format = "IOX"} : (tensor<2x9x4xf32>, tensor<6x2x3xf32>) -> tensor<2x7x6xf32>
// CHECK-NEXT: func.return %dx_6 : tensor<2x7x6xf32>

// The page's (C / 2, O, K) = (1, 4, 1): row 0 of group q is columns 2 q and 2 q + 1.
func.func @page_groups_constant(%dy: tensor<2x4x9xf32>) -> tensor<2x2x9xf32> {
  %w = onnx.Constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX", weights_format = "IOX"} : (tensor<2x4x9xf32>, tensor<1x4x1xf32>) -> tensor<2x2x9xf32>
  func.return %dx : tensor<2x2x9xf32>
}
// CHECK-LABEL: func.func @page_groups_constant(
// CHECK-NEXT: %dx = onnx.Constant dense<[[[1.000000e+00], [2.000000e+00]], [[3.000000e+00], [4.000000e+00]]]> : tensor<2x2x1xf32>
// CHECK-NEXT: %dx_1 = onednn.conv_transpose_backward_data %dy, %dx {weights_format = "IOX", strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX"} : (tensor<2x4x9xf32>, tensor<2x2x1xf32>) -> tensor<2x2x9xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<2x2x9xf32>

// Transposes of constants are done at compile time: (K, I, O) = (2, 1, 3) becomes (3, 1, 2).
func.func @constant(%dy: tensor<2x7x3xf32>) -> tensor<2x8x1xf32> {
  %w = onnx.Constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<2x7x3xf32>, tensor<2x1x3xf32>) -> tensor<2x8x1xf32>
  func.return %dx : tensor<2x8x1xf32>
}
// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %dx = onnx.Constant dense<[[[1.000000e+00, 4.000000e+00]], [[2.000000e+00, 5.000000e+00]], [[3.000000e+00, 6.000000e+00]]]> : tensor<3x1x2xf32>
// CHECK-NEXT: %dx_1 = onednn.convolution_backward_data %dy, %dx {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_format = "OIX"} : (tensor<2x7x3xf32>, tensor<3x1x2xf32>) -> tensor<2x8x1xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<2x8x1xf32>

// Names of dims stay.
func.func @names(%dy: tensor<?x?x4xf32, ["N", "Y", ""]>, %w: tensor<3x4x5xf32>) -> tensor<?x?x5xf32, ["N", "", ""]> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<?x?x4xf32, ["N", "Y", ""]>, tensor<3x4x5xf32>) -> tensor<?x?x5xf32, ["N", "", ""]>
  func.return %dx : tensor<?x?x5xf32, ["N", "", ""]>
}
// CHECK-LABEL: func.func @names(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [2, 1, 0]} : (tensor<3x4x5xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %dx_1 = onednn.conv_transpose_backward_data %dy, %dx {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_format = "IOX"} : (tensor<?x?x4xf32, ["N", "Y", ""]>, tensor<5x4x3xf32>) -> tensor<?x?x5xf32, ["N", "", ""]>
// CHECK-NEXT: func.return %dx_1 : tensor<?x?x5xf32, ["N", "", ""]>
