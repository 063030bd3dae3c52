// RUN: gradc-opt %s -p resize-to-conv,simplify | filecheck %s

// Factor 2: weights 1/4, 3/4, 3/4, 1/4 from position 2 x - 1 on; positions -1 and 3 are computed and folded in.
func.func @linear(%dy: tensor<1x2x6x3xf32>) -> tensor<1x2x3x3xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [3], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %dx : tensor<1x2x3x3xf32>
}
// CHECK-LABEL: func.func @linear(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[[[[2.500000e-01], [7.500000e-01], [7.500000e-01], [2.500000e-01]]], [[[2.500000e-01], [7.500000e-01], [7.500000e-01], [2.500000e-01]]]]> : tensor<2x1x4x1xf32>
// CHECK-NEXT: %dx_1 = onnx.Conv %dy, %dx {dilations = [1, 1], group = 2, pads = [3, 0, 3, 0], strides = [2, 1], gradc.strategy = "resize-to-conv"} : (tensor<1x2x6x3xf32>, tensor<2x1x4x1xf32>) -> tensor<1x2x5x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<1> : tensor<5xi64>
// CHECK-NEXT: %dx_3, %dx_4, %dx_5, %dx_6, %dx_7 = onnx.Split %dx_1, %dx_2 {axis = 2, gradc.strategy = "resize-to-conv"} : (tensor<1x2x5x3xf32>, tensor<5xi64>) -> (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>)
// CHECK-NEXT: %dx_8 = onnx.Add %dx_4, %dx_3 {gradc.strategy = "resize-to-conv"} : (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_9 = onnx.Add %dx_6, %dx_7 {gradc.strategy = "resize-to-conv"} : (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_10 = onnx.Concat %dx_8, %dx_5, %dx_9 {axis = 2, gradc.strategy = "resize-to-conv"} : (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<1x2x3x3xf32>

// nearest, channels last: a Conv of ones between two Transposes.
func.func @nearest(%dy: tensor<1x4x6x2xf32>) -> tensor<1x2x2x2xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [2, 2], step_numerators = [1, 1], step_denominators = [2, 3], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x4x6x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %dx : tensor<1x2x2x2xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<1.000000e+00> : tensor<2x1x2x3xf32>
// CHECK-NEXT: %dx_1 = onnx.Transpose %dy {perm = [0, 3, 1, 2], gradc.strategy = "resize-to-conv"} : (tensor<1x4x6x2xf32>) -> tensor<1x2x4x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Conv %dx_1, %dx {dilations = [1, 1], group = 2, pads = [0, 0, 0, 0], strides = [2, 3], gradc.strategy = "resize-to-conv"} : (tensor<1x2x4x6xf32>, tensor<2x1x2x3xf32>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Transpose %dx_2 {perm = [0, 2, 3, 1], gradc.strategy = "resize-to-conv"} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return %dx_3 : tensor<1x2x2x2xf32>

// A volume, channels first: slices are channels of a Conv along W, then D is one row of a Conv for each of the H W channels.
func.func @volume(%dy: tensor<?x2x2x1x2xf32>) -> tensor<?x2x1x1x1xf32> {
  %dx = grad.resize_backward %dy {axes = [2, 4], input_sizes = [1, 1], step_numerators = [1, 1], step_denominators = [2, 2], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<?x2x2x1x2xf32>) -> tensor<?x2x1x1x1xf32>
  func.return %dx : tensor<?x2x1x1x1xf32>
}
// CHECK-LABEL: func.func @volume(
// CHECK-NEXT: %dx = onnx.Shape %dy {gradc.strategy = "resize-to-conv"} : (tensor<?x2x2x1x2xf32>) -> tensor<5xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<5xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Concat %dx_2, %dx_3, %dx_4, %dx_5 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dy, %dx_6 {gradc.strategy = "resize-to-conv"} : (tensor<?x2x2x1x2xf32>, tensor<4xi64>) -> tensor<?x4x1x2xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<1.000000e+00> : tensor<4x1x1x2xf32>
// CHECK-NEXT: %dx_9 = onnx.Conv %dx_7, %dx_8 {dilations = [1, 1], group = 4, pads = [0, 0, 0, 0], strides = [1, 2], gradc.strategy = "resize-to-conv"} : (tensor<?x4x1x2xf32>, tensor<4x1x1x2xf32>) -> tensor<?x4x1x1xf32>
// CHECK-NEXT: %dx_10 = onnx.Mul %dx_2, %dx_5 {gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Concat %dx_10, %dx_5, %dx_4 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_9, %dx_11 {gradc.strategy = "resize-to-conv"} : (tensor<?x4x1x1xf32>, tensor<3xi64>) -> tensor<?x2x1xf32>
// CHECK-NEXT: %dx_13 = onnx.Unsqueeze %dx_12, %dx_4 {gradc.strategy = "resize-to-conv"} : (tensor<?x2x1xf32>, tensor<1xi64>) -> tensor<?x1x2x1xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant dense<1.000000e+00> : tensor<1x1x1x2xf32>
// CHECK-NEXT: %dx_15 = onnx.Transpose %dx_13 {perm = [0, 3, 1, 2], gradc.strategy = "resize-to-conv"} : (tensor<?x1x2x1xf32>) -> tensor<?x1x1x2xf32>
// CHECK-NEXT: %dx_16 = onnx.Conv %dx_15, %dx_14 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 2], gradc.strategy = "resize-to-conv"} : (tensor<?x1x1x2xf32>, tensor<1x1x1x2xf32>) -> tensor<?x1x1x1xf32>
// CHECK-NEXT: %dx_17 = onnx.Transpose %dx_16 {perm = [0, 2, 3, 1], gradc.strategy = "resize-to-conv"} : (tensor<?x1x1x1xf32>) -> tensor<?x1x1x1xf32>
// CHECK-NEXT: %dx_18 = onnx.Squeeze %dx_17, %dx_4 {gradc.strategy = "resize-to-conv"} : (tensor<?x1x1x1xf32>, tensor<1xi64>) -> tensor<?x1x1xf32>
// CHECK-NEXT: %dx_19 = onnx.Concat %dx_2, %dx_5, %dx_4, %dx_4, %dx_4 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi64>
// CHECK-NEXT: %dx_20 = onnx.Reshape %dx_18, %dx_19 {gradc.strategy = "resize-to-conv"} : (tensor<?x1x1xf32>, tensor<5xi64>) -> tensor<?x2x1x1x1xf32>
// CHECK-NEXT: func.return %dx_20 : tensor<?x2x1x1x1xf32>

// Channels last: slices are images, then D is the rows of images of H W columns.
func.func @volume_last(%dy: tensor<1x2x4x6x3xf32>) -> tensor<1x1x2x3x3xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2, 3], input_sizes = [1, 2, 3], step_numerators = [1, 1, 1], step_denominators = [2, 2, 2], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x4x6x3xf32>) -> tensor<1x1x2x3x3xf32>
  func.return %dx : tensor<1x1x2x3x3xf32>
}
// CHECK-LABEL: func.func @volume_last(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[2, 4, 6, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-conv"} : (tensor<1x2x4x6x3xf32>, tensor<4xi64>) -> tensor<2x4x6x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<1.000000e+00> : tensor<3x1x2x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Transpose %dx_1 {perm = [0, 3, 1, 2], gradc.strategy = "resize-to-conv"} : (tensor<2x4x6x3xf32>) -> tensor<2x3x4x6xf32>
// CHECK-NEXT: %dx_4 = onnx.Conv %dx_3, %dx_2 {dilations = [1, 1], group = 3, pads = [0, 0, 0, 0], strides = [2, 2], gradc.strategy = "resize-to-conv"} : (tensor<2x3x4x6xf32>, tensor<3x1x2x2xf32>) -> tensor<2x3x2x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Transpose %dx_4 {perm = [0, 2, 3, 1], gradc.strategy = "resize-to-conv"} : (tensor<2x3x2x3xf32>) -> tensor<2x2x3x3xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[1, 2, 6, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_5, %dx_6 {gradc.strategy = "resize-to-conv"} : (tensor<2x2x3x3xf32>, tensor<4xi64>) -> tensor<1x2x6x3xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<1.000000e+00> : tensor<3x1x2x1xf32>
// CHECK-NEXT: %dx_9 = onnx.Transpose %dx_7 {perm = [0, 3, 1, 2], gradc.strategy = "resize-to-conv"} : (tensor<1x2x6x3xf32>) -> tensor<1x3x2x6xf32>
// CHECK-NEXT: %dx_10 = onnx.Conv %dx_9, %dx_8 {dilations = [1, 1], group = 3, pads = [0, 0, 0, 0], strides = [2, 1], gradc.strategy = "resize-to-conv"} : (tensor<1x3x2x6xf32>, tensor<3x1x2x1xf32>) -> tensor<1x3x1x6xf32>
// CHECK-NEXT: %dx_11 = onnx.Transpose %dx_10 {perm = [0, 2, 3, 1], gradc.strategy = "resize-to-conv"} : (tensor<1x3x1x6xf32>) -> tensor<1x1x6x3xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[1, 1, 2, 3, 3]> : tensor<5xi64>
// CHECK-NEXT: %dx_13 = onnx.Reshape %dx_11, %dx_12 {gradc.strategy = "resize-to-conv"} : (tensor<1x1x6x3xf32>, tensor<5xi64>) -> tensor<1x1x2x3x3xf32>
// CHECK-NEXT: func.return %dx_13 : tensor<1x1x2x3x3xf32>

// Both borders, channels last: what is folded lies behind all pixels, and the result is gathered from that.
func.func @last(%dy: tensor<?x4x6x8xf32>) -> tensor<?x2x3x8xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [2, 3], step_numerators = [1, 1], step_denominators = [2, 2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<?x4x6x8xf32>) -> tensor<?x2x3x8xf32>
  func.return %dx : tensor<?x2x3x8xf32>
}
// CHECK-LABEL: func.func @last(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<"0x0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D0000803D0000403E0000403E0000803D0000403E0000103F0000103F0000403E0000403E0000103F0000103F0000403E0000803D0000403E0000403E0000803D"> : tensor<8x1x4x4xf32>
// CHECK-NEXT: %dx_1 = onnx.Transpose %dy {perm = [0, 3, 1, 2], gradc.strategy = "resize-to-conv"} : (tensor<?x4x6x8xf32>) -> tensor<?x8x4x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Conv %dx_1, %dx {dilations = [1, 1], group = 8, pads = [3, 3, 3, 3], strides = [2, 2], gradc.strategy = "resize-to-conv"} : (tensor<?x8x4x6xf32>, tensor<8x1x4x4xf32>) -> tensor<?x8x4x5xf32>
// CHECK-NEXT: %dx_3 = onnx.Transpose %dx_2 {perm = [0, 2, 3, 1], gradc.strategy = "resize-to-conv"} : (tensor<?x8x4x5xf32>) -> tensor<?x4x5x8xf32>
// CHECK-NEXT: %dx_4 = onnx.Shape %dx_2 : (tensor<?x8x4x5xf32>) -> tensor<4xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 0} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[1, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx_3, %dx_7 {axis = 1, gradc.strategy = "resize-to-conv"} : (tensor<?x4x5x8xf32>, tensor<2xi64>) -> tensor<?x2x5x8xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[0, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_10 = onnx.Gather %dx_3, %dx_9 {axis = 1, gradc.strategy = "resize-to-conv"} : (tensor<?x4x5x8xf32>, tensor<2xi64>) -> tensor<?x2x5x8xf32>
// CHECK-NEXT: %dx_11 = onnx.Add %dx_8, %dx_10 {gradc.strategy = "resize-to-conv"} : (tensor<?x2x5x8xf32>, tensor<?x2x5x8xf32>) -> tensor<?x2x5x8xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[1, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_13 = onnx.Gather %dx_3, %dx_12 {axis = 2, gradc.strategy = "resize-to-conv"} : (tensor<?x4x5x8xf32>, tensor<2xi64>) -> tensor<?x4x2x8xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[0, 4]> : tensor<2xi64>
// CHECK-NEXT: %dx_15 = onnx.Gather %dx_3, %dx_14 {axis = 2, gradc.strategy = "resize-to-conv"} : (tensor<?x4x5x8xf32>, tensor<2xi64>) -> tensor<?x4x2x8xf32>
// CHECK-NEXT: %dx_16 = onnx.Add %dx_13, %dx_15 {gradc.strategy = "resize-to-conv"} : (tensor<?x4x2x8xf32>, tensor<?x4x2x8xf32>) -> tensor<?x4x2x8xf32>
// CHECK-NEXT: %dx_17 = onnx.Gather %dx_11, %dx_12 {axis = 2, gradc.strategy = "resize-to-conv"} : (tensor<?x2x5x8xf32>, tensor<2xi64>) -> tensor<?x2x2x8xf32>
// CHECK-NEXT: %dx_18 = onnx.Gather %dx_11, %dx_14 {axis = 2, gradc.strategy = "resize-to-conv"} : (tensor<?x2x5x8xf32>, tensor<2xi64>) -> tensor<?x2x2x8xf32>
// CHECK-NEXT: %dx_19 = onnx.Add %dx_17, %dx_18 {gradc.strategy = "resize-to-conv"} : (tensor<?x2x2x8xf32>, tensor<?x2x2x8xf32>) -> tensor<?x2x2x8xf32>
// CHECK-NEXT: %dx_20 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<20> : tensor<1xi64>
// CHECK-NEXT: %dx_21 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<8> : tensor<1xi64>
// CHECK-NEXT: %dx_22 = onnx.Concat %dx_6, %dx_20, %dx_21 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_23 = onnx.Reshape %dx_3, %dx_22 {gradc.strategy = "resize-to-conv"} : (tensor<?x4x5x8xf32>, tensor<3xi64>) -> tensor<?x20x8xf32>
// CHECK-NEXT: %dx_24 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<10> : tensor<1xi64>
// CHECK-NEXT: %dx_25 = onnx.Concat %dx_6, %dx_24, %dx_21 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_26 = onnx.Reshape %dx_11, %dx_25 {gradc.strategy = "resize-to-conv"} : (tensor<?x2x5x8xf32>, tensor<3xi64>) -> tensor<?x10x8xf32>
// CHECK-NEXT: %dx_27 = onnx.Concat %dx_6, %dx_21, %dx_21 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_28 = onnx.Reshape %dx_16, %dx_27 {gradc.strategy = "resize-to-conv"} : (tensor<?x4x2x8xf32>, tensor<3xi64>) -> tensor<?x8x8xf32>
// CHECK-NEXT: %dx_29 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_30 = onnx.Concat %dx_6, %dx_29, %dx_21 {axis = 0, gradc.strategy = "resize-to-conv"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_31 = onnx.Reshape %dx_19, %dx_30 {gradc.strategy = "resize-to-conv"} : (tensor<?x2x2x8xf32>, tensor<3xi64>) -> tensor<?x4x8xf32>
// CHECK-NEXT: %dx_32 = onnx.Concat %dx_23, %dx_26, %dx_28, %dx_31 {axis = 1, gradc.strategy = "resize-to-conv"} : (tensor<?x20x8xf32>, tensor<?x10x8xf32>, tensor<?x8x8xf32>, tensor<?x4x8xf32>) -> tensor<?x42x8xf32>
// CHECK-NEXT: %dx_33 = onnx.Constant {gradc.strategy = "resize-to-conv"} dense<[[38, 22, 39], [40, 27, 41]]> : tensor<2x3xi64>
// CHECK-NEXT: %dx_34 = onnx.Gather %dx_32, %dx_33 {axis = 1, gradc.strategy = "resize-to-conv"} : (tensor<?x42x8xf32>, tensor<2x3xi64>) -> tensor<?x2x3x8xf32>
// CHECK-NEXT: func.return %dx_34 : tensor<?x2x3x8xf32>
