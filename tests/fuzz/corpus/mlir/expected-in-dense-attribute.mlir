builtin.module {
  func.func @main(%dy0: tensor<0x6x5xf32>, %w3: tensor<9x2x3xf32>, %w5: tensor<2x12x1xf32>) -> (tensor<0x12x9xf32>, tensor<0x34x18xf32>, tensor<0x24x9xf32>) {
    %w1 = arith.constant dense<[[[-0.90703392], [-0.395740151]], [[1.40846467], [0.981445551]], [[-0.592826188], [-1.31782854]], [[-1.01207054], [0.843204856]], [[-0.520407856], [-0.015627034]], [[0.259932458], [0.0377311297]]]]> : tensor<6x2x1xf32>
    %dx2 = grad.conv_backward_data %dy0, %w1 {strides = [2], dilations = [2], pads_begin = [1], pads_end = [0], groups = 6, residue = [1], layout = "NCX"} : (tensor<0x6x5xf32>, tensor<6x2x1xf32>) -> tensor<0x12x9xf32>
    %dx4 = grad.conv_backward_data %dx2, %w3 {strides = [3], dilations = [1], pads_begin = [0], pads_end = [4], groups = 9, residue = [3], layout = "NXC"} : (tensor<0x12x9xf32>, tensor<9x2x3xf32>) -> tensor<0x34x18xf32>
    %dx6 = onednn.conv_transpose_backward_data %dx2, %w5 {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], auto_pad = "same_lower", auto_pad_rule = "library", groups = 12, data_format = "NCX", weights_format = "IOX", output_padding = [0]} : (tensor<0x12x9xf32>, tensor<2x12x1xf32>) -> tensor<0x24x9xf32>
    func.return %dx2, %dx4, %dx6 : tensor<0x12x9xf32>, tensor<0x34x18xf32>, tensor<0x24x9xf32>
  }
}
