builtin.module {
  func.func @main(%dy0: tensor<?x4x2x1x3xf32, ["N", "", "", "", ""]>, %w1: tensor<6x1x3x3x3xf32>) -> tensor<?x7x5x2x?xf32, ["N", "", "", "", ""]> {
    %dx2 = onednn.conv_transpose_backward_data %dy0, %w1 {strides = [1, 2, 3], dilations = [2, 2, 2], pads_begin = [2, 5, 4], pads_end = [5, 6, 5], auto_pad = "none", auto_pad_rule = "documented", groups = 3, weights_format = "IOX"} : (tensor<?x4x2x1x3xf32, ["N", "", "", "", ""]>, tensor<6x1x3x3x3xf32>) -> tensor<?x7x5x2x?xf32, ["N", "", "", "", ""]>
    func.return %dx2 : tensor<?x7x5x2x?xf32, ["N", "", "", "", ""]>
  }
}
