// The gradient of a strided TensorFlow-style convolution: NXC data, XIO weights, same_upper padding.
func.func @main(%diff_dst: tensor<1x14x14x64xf32>, %weights: tensor<3x3x32x64xf32>)
    -> tensor<1x28x28x32xf32> {
  %diff_src = onednn.convolution_backward_data %diff_dst, %weights {
    strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1],
    auto_pad = "same_upper", auto_pad_rule = "library", dst_shape = [1, 28, 28, 32]
  } : (tensor<1x14x14x64xf32>, tensor<3x3x32x64xf32>) -> tensor<1x28x28x32xf32>
  func.return %diff_src : tensor<1x28x28x32xf32>
}
