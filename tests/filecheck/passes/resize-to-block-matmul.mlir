// RUN: gradc-opt %s -p resize-to-block-matmul,simplify | filecheck %s

// 4 to 8: the sampling repeats after 2 positions, two blocks of 2. What a block gives to its neighbours is
// added to their ends, and at the ends of the axis to its own.
func.func @linear(%dy: tensor<1x3x8xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @linear(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<[1, 3, 2, 4]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x8xf32>, tensor<4xi64>) -> tensor<1x3x2x4xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<[[2.500000e-01, 7.500000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 7.500000e-01, 2.500000e-01, 0.000000e+00], [0.000000e+00, 2.500000e-01, 7.500000e-01, 0.000000e+00], [0.000000e+00, 0.000000e+00, 7.500000e-01, 2.500000e-01]]> : tensor<4x4xf32>
// CHECK-NEXT: %dx_3 = onnx.MatMul %dx_1, %dx_2 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x4xf32>, tensor<4x4xf32>) -> tensor<1x3x2x4xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<1> : tensor<4xi64>
// CHECK-NEXT: %dx_5, %dx_6, %dx_7, %dx_8 = onnx.Split %dx_3, %dx_4 {axis = 3, gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x4xf32>, tensor<4xi64>) -> (tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>)
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Slice %dx_5, %dx_9, %dx_10, %dx_11 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x1xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x1x1xf32>
// CHECK-NEXT: %dx_13 = onnx.Slice %dx_8, %dx_9, %dx_10, %dx_11 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x1xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x1x1xf32>
// CHECK-NEXT: %dx_14 = onnx.Concat %dx_12, %dx_13 {axis = 2, gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>) -> tensor<1x3x2x1xf32>
// CHECK-NEXT: %dx_15 = onnx.Slice %dx_5, %dx_10, %dx_11, %dx_11 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x1xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x1x1xf32>
// CHECK-NEXT: %dx_16 = onnx.Slice %dx_8, %dx_10, %dx_11, %dx_11 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x1xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x1x1xf32>
// CHECK-NEXT: %dx_17 = onnx.Concat %dx_15, %dx_16 {axis = 2, gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>) -> tensor<1x3x2x1xf32>
// CHECK-NEXT: %dx_18 = onnx.Add %dx_6, %dx_14 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>) -> tensor<1x3x2x1xf32>
// CHECK-NEXT: %dx_19 = onnx.Add %dx_7, %dx_17 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>) -> tensor<1x3x2x1xf32>
// CHECK-NEXT: %dx_20 = onnx.Concat %dx_18, %dx_19 {axis = 3, gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: %dx_21 = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<[1, 3, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_22 = onnx.Reshape %dx_20, %dx_21 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x3x2x2xf32>, tensor<3xi64>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx_22 : tensor<1x3x4xf32>

// nearest shares no position: nothing to add.
func.func @nearest(%dy: tensor<1x8x3xf32>) -> tensor<1x4x3xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [4], step_numerators = [1], step_denominators = [2], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x8x3xf32>) -> tensor<1x4x3xf32>
  func.return %dx : tensor<1x4x3xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<[1, 2, 4, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x8x3xf32>, tensor<4xi64>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<[[1.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00]]> : tensor<2x4xf32>
// CHECK-NEXT: %dx_3 = onnx.MatMul %dx_2, %dx_1 {gradc.strategy = "resize-to-block-matmul"} : (tensor<2x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-block-matmul"} dense<[1, 4, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %dx_3, %dx_4 {gradc.strategy = "resize-to-block-matmul"} : (tensor<1x2x2x3xf32>, tensor<3xi64>) -> tensor<1x4x3xf32>
// CHECK-NEXT: func.return %dx_5 : tensor<1x4x3xf32>

// Sizes without a common divisor: left for another.
func.func @refused(%dy: tensor<1x3x5xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [5], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x5xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @refused(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [5], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x5xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x4xf32>
