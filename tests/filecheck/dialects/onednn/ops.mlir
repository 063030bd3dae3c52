// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

// Required attributes only: everything else has its documented default, which is not written out.
func.func @convolution(%dy: tensor<2x7x4xf32>, %w: tensor<3x2x4xf32>) -> tensor<2x9x2xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<2x7x4xf32>, tensor<3x2x4xf32>) -> tensor<2x9x2xf32>
  func.return %dx : tensor<2x9x2xf32>
}
// CHECK-LABEL: func.func @convolution(
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<2x7x4xf32>, tensor<3x2x4xf32>) -> tensor<2x9x2xf32>
// CHECK-NEXT: func.return %dx : tensor<2x9x2xf32>

func.func @convolution_all_attributes(%dy: tensor<1x4x3x3xbf16>, %w: tensor<4x3x2x2xbf16>) -> tensor<1x6x7x6xbf16> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 3], auto_pad = "valid", output_padding = [1, 0], groups = 2, data_format = "NCX", auto_pad_rule = "library", weights_format = "OIX", dst_shape = [1, 6, 7, 6]} : (tensor<1x4x3x3xbf16>, tensor<4x3x2x2xbf16>) -> tensor<1x6x7x6xbf16>
  func.return %dx : tensor<1x6x7x6xbf16>
}
// CHECK-LABEL: func.func @convolution_all_attributes(
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 3], auto_pad = "valid", output_padding = [1, 0], groups = 2, data_format = "NCX", auto_pad_rule = "library", weights_format = "OIX", dst_shape = [1, 6, 7, 6]} : (tensor<1x4x3x3xbf16>, tensor<4x3x2x2xbf16>) -> tensor<1x6x7x6xbf16>
// CHECK-NEXT: func.return %dx : tensor<1x6x7x6xbf16>

func.func @convolution_shape_input(%dy: tensor<?x4x3x3x3xf16, ["N", "", "", "", ""]>, %w: tensor<4x2x1x1x1xf16>, %shape: tensor<5xi32>) -> tensor<?x2x?x?x?xf16> {
  %dx = onednn.convolution_backward_data %dy, %w, %shape {strides = [1, 1, 1], pads_begin = [0, 0, 0], pads_end = [0, 0, 0], dilations = [1, 1, 1], auto_pad = "same_upper", data_format = "NCX", weights_format = "OIX"} : (tensor<?x4x3x3x3xf16, ["N", "", "", "", ""]>, tensor<4x2x1x1x1xf16>, tensor<5xi32>) -> tensor<?x2x?x?x?xf16>
  func.return %dx : tensor<?x2x?x?x?xf16>
}
// CHECK-LABEL: func.func @convolution_shape_input(
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w, %shape {strides = [1, 1, 1], pads_begin = [0, 0, 0], pads_end = [0, 0, 0], dilations = [1, 1, 1], auto_pad = "same_upper", data_format = "NCX", weights_format = "OIX"} : (tensor<?x4x3x3x3xf16, ["N", "", "", "", ""]>, tensor<4x2x1x1x1xf16>, tensor<5xi32>) -> tensor<?x2x?x?x?xf16>
// CHECK-NEXT: func.return %dx : tensor<?x2x?x?x?xf16>

func.func @conv_transpose(%dy: tensor<2x9x4xf32>, %w: tensor<3x4x5xf32>) -> tensor<2x7x5xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<2x9x4xf32>, tensor<3x4x5xf32>) -> tensor<2x7x5xf32>
  func.return %dx : tensor<2x7x5xf32>
}
// CHECK-LABEL: func.func @conv_transpose(
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<2x9x4xf32>, tensor<3x4x5xf32>) -> tensor<2x7x5xf32>
// CHECK-NEXT: func.return %dx : tensor<2x7x5xf32>

func.func @conv_transpose_all_attributes(%dy: tensor<1x4x7x6xf64>, %w: tensor<6x2x2x2xf64>) -> tensor<1x6x3x3xf64> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 3], auto_pad = "none", output_padding = [1, 0], groups = 2, data_format = "NCX", auto_pad_rule = "documented", weights_format = "IOX"} : (tensor<1x4x7x6xf64>, tensor<6x2x2x2xf64>) -> tensor<1x6x3x3xf64>
  func.return %dx : tensor<1x6x3x3xf64>
}
// CHECK-LABEL: func.func @conv_transpose_all_attributes(
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 3], auto_pad = "none", output_padding = [1, 0], groups = 2, data_format = "NCX", auto_pad_rule = "documented", weights_format = "IOX"} : (tensor<1x4x7x6xf64>, tensor<6x2x2x2xf64>) -> tensor<1x6x3x3xf64>
// CHECK-NEXT: func.return %dx : tensor<1x6x3x3xf64>

func.func @interpolate(%x: tensor<1x2x4xf32>, %dy: tensor<1x3x4xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", sizes = [3]} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @interpolate(
// CHECK-NEXT: %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", sizes = [3]} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>

func.func @interpolate_all_attributes(%x: tensor<1x4x2x2xf32>, %dy: tensor<1x4x3x5xf32>) -> tensor<1x4x2x2xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "bilinear", coordinate_transformation_mode = "align_corners", sizes = [3, 5], scales = [1.5, 2.5], data_format = "NCX", nearest_rounding = "onnx_prefer_floor"} : (tensor<1x4x2x2xf32>, tensor<1x4x3x5xf32>) -> tensor<1x4x2x2xf32>
  func.return %dx : tensor<1x4x2x2xf32>
}
// CHECK-LABEL: func.func @interpolate_all_attributes(
// CHECK-NEXT: %dx = onednn.interpolate_backward %x, %dy {mode = "bilinear", coordinate_transformation_mode = "align_corners", sizes = [3, 5], scales = [1.5, 2.5], data_format = "NCX", nearest_rounding = "onnx_prefer_floor"} : (tensor<1x4x2x2xf32>, tensor<1x4x3x5xf32>) -> tensor<1x4x2x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x4x2x2xf32>

func.func @interpolate_sizes_input(%x: tensor<1x2x2x2x4xf32>, %dy: tensor<1x?x?x?x4xf32>, %sizes: tensor<3xi32>) -> tensor<1x2x2x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy, %sizes {mode = "trilinear"} : (tensor<1x2x2x2x4xf32>, tensor<1x?x?x?x4xf32>, tensor<3xi32>) -> tensor<1x2x2x2x4xf32>
  func.return %dx : tensor<1x2x2x2x4xf32>
}
// CHECK-LABEL: func.func @interpolate_sizes_input(
// CHECK-NEXT: %dx = onednn.interpolate_backward %x, %dy, %sizes {mode = "trilinear"} : (tensor<1x2x2x2x4xf32>, tensor<1x?x?x?x4xf32>, tensor<3xi32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x2x2x4xf32>

// Floats keep all their digits, small and large ones included.
func.func @numbers(%x: tensor<1x3x4xf32>, %dy: tensor<1x1x4xf32>) -> tensor<1x3x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [1], scales = [1.0e-30]} : (tensor<1x3x4xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @numbers(
// CHECK-NEXT: %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [1], scales = [1.0e-30]} : (tensor<1x3x4xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x4xf32>

// The ids of a document travel along.
func.func @source_id(%x: tensor<1x2x4xf32>, %dy: tensor<1x3x4xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", scales = [1.5], source.id = "17"} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @source_id(
// CHECK-NEXT: %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", scales = [1.5], source.id = "17"} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>
