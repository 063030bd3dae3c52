builtin.module {
  func.func @main(%dy0: tensor<2x3x3x3x2xf32>, %w1: tensor<1x3x3x3x3xf32>, %dy3: tensor<2x3x9x4xf32>) -> (tensor<2x9x3x7x4xf32>, tensor<2x1x7x4xf32>) {
    %dx2 = onednn.convolution_backward_data %dy0, %w1 {strides = [1, 1, 1], dilations = [], 2, 1], data_format = "NCX", groups = 3, auto_pad = "same_upper", pads_begin = [0, 2, 0], pads_end = [0, 2, 0], weights_format = "XIO"} : (tensor<2x3x3x3x2xf32>, tensor<1x3x3x3x3xf32>) -> tensor<2x9x3x7x4xf32>
    %dx4 = cann.upsample_bilinear2d_backward %dy3 {outputSize = [3, 9], inputSize = [2, 1, 7, 4], alignCorners = true, scalesH = 3.0, scalesW = 3.0, format = "NHWC"} : (tensor<2x3x9x4xf32>) -> tensor<2x1x7x4xf32>
    func.return %dx2, %dx4 : tensor<2x9x3x7x4xf32>, tensor<2x1x7x4xf32>
  }
}
