builtin.module {
  func.func @main(%dy0: tensor<2x4x?xf32, ["", "", "Y0_0"]> {gradc.name = "dy0"}, %w3: tensor<1e999x2x1xf32> {gradc.name = "w3"}) -> (tensor<2x8x?xf32> {gradc.name = "dx2"}, tensor<2x2x?xf32> {gradc.name = "dx4"}) {
    %w1 = onnx.Constant dense<[[[1.04625356]], [[0.372253925]], [[-0.455236912]], [[-0.358774126]], [[-0.0744487867]], [[0.543637097]], [[0.597923458]], [[-0.271038771]]]> : tensor<8x1x1xf32>
    %dx2 = onnx.Conv %dy0, %w1 {dilations = [2], group = 4, pads = [1, 1], strides = [3], gradc.strategy = "conv-to-conv"} : (tensor<2x4x?xf32, ["", "", "Y0_0"]>, tensor<8x1x1xf32>) -> tensor<2x8x?xf32>
    %dx4 = onnx.ConvTranspose %dy0, %w3 {dilations = [1], group = 1, output_padding = [0], pads = [2, 2], strides = [2], gradc.strategy = "conv-to-conv-transpose"} : (tensor<2x4x?xf32, ["", "", "Y0_0"]>, tensor<4x2x1xf32>) -> tensor<2x2x?xf32>
    func.return %dx2, %dx4 : tensor<2x8x?xf32>, tensor<2x2x?xf32>
  }
}
