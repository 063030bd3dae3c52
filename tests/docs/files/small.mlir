func.func @main(%dy: tensor<1x8x6x6xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {
    strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1],
    dst_shape = [1, 8, 6, 6], data_format = "NCX", weights_format = "OIX"
  } : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return %dx : tensor<1x8x6x6xf32>
}
