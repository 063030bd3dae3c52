builtin.module {
  func.func @main(%dy0: tensor<2x4x?xf32, ["", "", "Y0_0"]>, %w3: tensor<4x2x1xf32>) -> (tensor<2x8x?xf32>, tensor<2x2x?xf32>) {
    %w1 = arith.constant dense<[[[1.04625356]], [[0.372253925]], [[-0.455236912]], [[-0.358774126]], [[-0.0744487867]], [[0.543637097]], [[0.597923458]], [[-0.271038771]]]> : tensor<8x1x1xf32>
    %dx2 = grad.conv_transpose_backward_data %dy0, %w1 {strides = [3], dilations = [2], pads_begin = [1], pads_end = [1], groups = 4, layout = "NCX"} : (tensor<1x4x?xf32, ["", "", "Y0_0"]>, tensor<8x1x1xf32>) -> tensor<2xui8>
    %dx4 = grad.conv_backward_data %dy0, %w3 {strides = [2], dilations = [1], pads_begin = [2], pads_end = [2], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x4x?xf32, ["", "", "Y0_0"]>, tensor<4x2x1xf32>) -> tensor<2x2x?xf32>
    func.return %dx2, %dx4 : tensor<2x8x?xf32>, tensor<22x2x?xf32>
  }
}
