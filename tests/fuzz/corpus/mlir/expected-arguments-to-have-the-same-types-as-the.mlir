builtin.module {
  func.func @main(%dy0: tensor<?x3x4x4xf16>, %w1: tensor<2x3x4x3xf16>) -> tensor<9223372036854775808x1x1x1xf32> {
    %dx2 = onednn.conv_transpose_backward_data %dy0, %w1 {strides = [4, 2], dilations = [2, 1], pads_begin = [1, 2], pads_end = [3, 2], auto_pad = "none", auto_pad_rule = "documented", groups = 3, data_format = "NCX", weights_format = "IOX", output_padding = [1, 1]} : (tensor<?x3x4x4xf16>, tensor<2x3x4x3xf16>) -> tensor<?x6x1x3xf16>
    func.return %dx2 : tensor<?x6x1x3xf16>
  }
}
