builtin.module {
  func.func @main(%dy0: tensor<2x5x1xf16>) -> tensor<2x5x3xf16> {
    %w1 = arith.constant dense<[[[8.334960e-01], [1.808590e+00], [3.267580e+00]]]> : tensor<1x3x1xf16>
    %dx2 = grad.conv_backward_data %dy0, %w1 {strides = [2], dilations = [1], pads_begin = [1], pads_end = [3], groups = 1, residue = [0], layout = "NXC"} : (tensor<2x5x1xf16>, tensor<1x3x1xf16>) -> tensor<2x5x3xf16>
    func.return %dx2 : tensor<2x5x3xf16>
  }
}
