builtin.module {
  func.func @main(%dy0: tensor<1x2x5x6xf16> {gradc.name = "dy0"}, %w3: tensor<6x1x2x1xf16> {gradc.name = "w3"}) -> (tensor<1x8x5x6xf16> {gradc.name = "dx2"}, tensor<1x12x4x6xf16> {gradc.name = "dx4"}) {
    %dy0_1 = onnx.Transpose %dy0 {perm = [0, 3, 1, 2]} : (tensor<1x2x5x6xf16>) -> tensor<1x6x2x5xf16>
    %0 = onnx.Cast %dy0_1 {to = f32} : (tensor<1x6x2x5xf16>) -> tensor<1x6x2x5xf32>
    %1 = onnx.Constant dense<[[[[-1.47949219], [-0.388183594]], [[1.29199219], [-1.11914062]], [[0.0355224609], [1.00195312]]], [[[-1.10351562], [-1.30859375]], [[0.704589844], [1.2578125]], [[-0.608886719], [-1.125000e+00]]], [[[-0.442871094], [0.540527344]], [[-0.33984375], [-0.967773438]], [[-0.541015625], [-1.62304688]]], [[[1.7109375], [-0.706542969]], [[0.905273438], [-0.179199219]], [[-1.29785156], [-0.729003906]]], [[[1.16113281], [-7.934570e-02]], [[0.030456543], [-0.279785156]], [[1.24414062], [-0.153442383]]], [[[-0.381835938], [0.360595703]], [[1.48632812], [0.0202941895]], [[1.02148438], [2.27539062]]]]> : tensor<6x3x2x1xf32>
    %2 = onnx.ConvTranspose %0, %1 {dilations = [2, 3], group = 2, output_padding = [1, 0], pads = [0, 0, 0, 0], strides = [4, 1], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x6x2x5xf32>, tensor<6x3x2x1xf32>) -> tensor<1x6x8x5xf32>
    %dx2 = onnx.Cast %2 {to = f16} : (tensor<1x6x8x5xf32>) -> tensor<1x6x8x5xf16>
    %3 = onnx.Cast %w3 {to = f32} : (tensor<6x1x2x1xf16>) -> tensor<6x1x2x1xf32>
    %4 = onnx.ConvTranspose %2, %3 {dilations = [1, 1], group = 6, output_padding = [1, 0], pads = [4, 3, 1, 2], strides = [2, 2], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x6x8x5xf32>, tensor<6x1x2x1xf32>) -> tensor<1x6x12x4xf32>
    %dx4 = onnx.Cast %4 {to = f16} : (tensor<1x6x12x4xf32>) -> tensor<1x6x12x4xf16>
    %dx2_1 = onnx.Transpose %dx2 {perm = [0, 2, 3, 2]} : (tensor<1x6x8x5xf16>) -> tensor<1x8x5x6xf16>
    %dx4_1 = onnx.Transpose %dx4 {perm = [0, 2, 3, 1]} : (tensor<1x6x12x4xf16>) -> tensor<1x12x4x6xf16>
    func.return %dx2_1, %dx4_1 : tensor<1x8x5x6xf16>, tensor<1x12x4x6xf16>
  }
}
