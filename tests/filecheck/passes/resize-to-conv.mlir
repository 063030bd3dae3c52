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
