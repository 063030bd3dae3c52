// RUN: gradc-opt %s | filecheck %s
// What is read in any spelling is written in the documented one.

func.func @words(%dy: tensor<2x4x7xf32>, %w: tensor<4x2x3xf32>) -> tensor<2x2x9xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = array<i64: 1>, pads_begin = [0 : i64], pads_end = [0 : i32], dilations = [1], auto_pad = "NOTSET", auto_pad_rule = "LIBRARY", groups = 1 : i32, data_format = "ncx", weights_format = "Oix"} : (tensor<2x4x7xf32>, tensor<4x2x3xf32>) -> tensor<2x2x9xf32>
  func.return %dx : tensor<2x2x9xf32>
}
// CHECK-LABEL: func.func @words(
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "none", auto_pad_rule = "library", groups = 1, data_format = "NCX", weights_format = "OIX"} : (tensor<2x4x7xf32>, tensor<4x2x3xf32>) -> tensor<2x2x9xf32>
// CHECK-NEXT: func.return %dx : tensor<2x2x9xf32>

// Twelve zeros, or twelve ones for dilations, are how a dump writes what was never set.
func.func @unset(%dy: tensor<2x7x4xf32>, %w: tensor<3x2x4xf32>) -> tensor<2x9x2xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1,1,1,1,1,1,1,1,1,1,1,1], output_padding = [0,0,0,0,0,0,0,0,0,0,0,0], dst_shape = [0,0,0,0,0,0,0,0,0,0,0,0], auto_pad = "None"} : (tensor<2x7x4xf32>, tensor<3x2x4xf32>) -> tensor<2x9x2xf32>
  func.return %dx : tensor<2x9x2xf32>
}
// CHECK-LABEL: func.func @unset(
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "none"} : (tensor<2x7x4xf32>, tensor<3x2x4xf32>) -> tensor<2x9x2xf32>
// CHECK-NEXT: func.return %dx : tensor<2x9x2xf32>

func.func @conv_transpose_words(%dy: tensor<2x4x9xf32>, %w: tensor<5x4x3xf32>) -> tensor<2x5x7xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "Valid", data_format = "ncx", weights_format = "iox"} : (tensor<2x4x9xf32>, tensor<5x4x3xf32>) -> tensor<2x5x7xf32>
  func.return %dx : tensor<2x5x7xf32>
}
// CHECK-LABEL: func.func @conv_transpose_words(
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "valid", data_format = "NCX", weights_format = "IOX"} : (tensor<2x4x9xf32>, tensor<5x4x3xf32>) -> tensor<2x5x7xf32>
// CHECK-NEXT: func.return %dx : tensor<2x5x7xf32>

func.func @interpolate_words(%x: tensor<1x2x4xf32>, %dy: tensor<1x3x4xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "NEAREST", coordinate_transformation_mode = "Half_Pixel", scales = [1.5 : f32], data_format = "nxc"} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @interpolate_words(
// CHECK-NEXT: %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", coordinate_transformation_mode = "half_pixel", scales = [1.5], data_format = "NXC"} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x4xf32>
