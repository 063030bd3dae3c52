// RUN: gradc-opt %s -p resize-to-matmul,simplify | filecheck %s

// t = (y + 1/2) / 2 - 1/2 = -1/4, 1/4, 3/4, 5/4, clamped to [0, 1].
func.func @linear(%dy: tensor<1x3x4xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x4xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @linear(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[[1.000000e+00, 0.000000e+00], [7.500000e-01, 2.500000e-01], [2.500000e-01, 7.500000e-01], [0.000000e+00, 1.000000e+00]]> : tensor<4x2xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dy, %dx {gradc.strategy = "resize-to-matmul"} : (tensor<1x3x4xf32>, tensor<4x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x3x2xf32>

// i = ((2 y + 1) 2) div 6 = 0, 1, 1: the tie at y = 1 goes up.
func.func @nearest(%dy: tensor<1x3x3xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [2], step_denominators = [3], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x3x3xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[[1.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00], [0.000000e+00, 1.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dy, %dx {gradc.strategy = "resize-to-matmul"} : (tensor<1x3x3xf32>, tensor<3x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x3x2xf32>

// The same tie, down.
func.func @nearest_down(%dy: tensor<1x3x3xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [2], step_denominators = [3], interpolation = "nearest_half_down", coordinates = "half_pixel"} : (tensor<1x3x3xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @nearest_down(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[[1.000000e+00, 0.000000e+00], [1.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dy, %dx {gradc.strategy = "resize-to-matmul"} : (tensor<1x3x3xf32>, tensor<3x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x3x2xf32>

// i = (2 y) div 3 = 0, 0, 1.
func.func @floor(%dy: tensor<1x3x3xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [2], step_denominators = [3], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x3x3xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @floor(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[[1.000000e+00, 0.000000e+00], [1.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dy, %dx {gradc.strategy = "resize-to-matmul"} : (tensor<1x3x3xf32>, tensor<3x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x3x2xf32>

// t = 0, 1/2, 1.
func.func @align_corners(%dy: tensor<1x1x3xf32>) -> tensor<1x1x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "corner"} : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  func.return %dx : tensor<1x1x2xf32>
}
// CHECK-LABEL: func.func @align_corners(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[[1.000000e+00, 0.000000e+00], [5.000000e-01, 5.000000e-01], [0.000000e+00, 1.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dy, %dx {gradc.strategy = "resize-to-matmul"} : (tensor<1x1x3xf32>, tensor<3x2xf32>) -> tensor<1x1x2xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x1x2xf32>

// The last axis but one is multiplied from the left, with the transposed matrix.
func.func @rows(%dy: tensor<1x4x3xf32>) -> tensor<1x2x3xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x4x3xf32>) -> tensor<1x2x3xf32>
  func.return %dx : tensor<1x2x3xf32>
}
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %dx = onnx.Constant dense<[[1.000000e+00, 7.500000e-01, 2.500000e-01, 0.000000e+00], [0.000000e+00, 2.500000e-01, 7.500000e-01, 1.000000e+00]]> : tensor<2x4xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dx, %dy {gradc.strategy = "resize-to-matmul"} : (tensor<2x4xf32>, tensor<1x4x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x2x3xf32>

// An outer axis, with all behind it as columns.
func.func @outer(%dy: tensor<4x2x3xf32>) -> tensor<2x2x3xf32> {
  %dx = grad.resize_backward %dy {axes = [0], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<4x2x3xf32>) -> tensor<2x2x3xf32>
  func.return %dx : tensor<2x2x3xf32>
}
// CHECK-LABEL: func.func @outer(
// CHECK-NEXT: %dx = onnx.Constant dense<[[1.000000e+00, 7.500000e-01, 2.500000e-01, 0.000000e+00], [0.000000e+00, 2.500000e-01, 7.500000e-01, 1.000000e+00]]> : tensor<2x4xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[4, 6]> : tensor<2xi64>
// CHECK-NEXT: %dx_2 = onnx.Reshape %dy, %dx_1 {gradc.strategy = "resize-to-matmul"} : (tensor<4x2x3xf32>, tensor<2xi64>) -> tensor<4x6xf32>
// CHECK-NEXT: %dx_3 = onnx.MatMul %dx, %dx_2 {gradc.strategy = "resize-to-matmul"} : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[2, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %dx_3, %dx_4 {gradc.strategy = "resize-to-matmul"} : (tensor<2x6xf32>, tensor<3xi64>) -> tensor<2x2x3xf32>
// CHECK-NEXT: func.return %dx_5 : tensor<2x2x3xf32>

// The axis that shrinks goes first.
func.func @two_axes(%dy: tensor<1x2x2x6xf32>) -> tensor<1x2x4x3xf32> {
  %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [2, 1], step_denominators = [1, 2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x2x6xf32>) -> tensor<1x2x4x3xf32>
  func.return %dx : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @two_axes(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[[1.000000e+00, 0.000000e+00, 0.000000e+00], [7.500000e-01, 2.500000e-01, 0.000000e+00], [2.500000e-01, 7.500000e-01, 0.000000e+00], [0.000000e+00, 7.500000e-01, 2.500000e-01], [0.000000e+00, 2.500000e-01, 7.500000e-01], [0.000000e+00, 0.000000e+00, 1.000000e+00]]> : tensor<6x3xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dy, %dx {gradc.strategy = "resize-to-matmul"} : (tensor<1x2x2x6xf32>, tensor<6x3xf32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<[[5.000000e-01, 0.000000e+00], [5.000000e-01, 0.000000e+00], [0.000000e+00, 5.000000e-01], [0.000000e+00, 5.000000e-01]]> : tensor<4x2xf32>
// CHECK-NEXT: %dx_3 = onnx.MatMul %dx_2, %dx_1 {gradc.strategy = "resize-to-matmul"} : (tensor<4x2xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %dx_3 : tensor<1x2x4x3xf32>

// NXC needs no transpose of data.
func.func @nxc(%dy: tensor<1x2x6x5xf32>) -> tensor<1x4x3x5xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [4, 3], step_numerators = [2, 1], step_denominators = [1, 2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x5xf32>) -> tensor<1x4x3x5xf32>
  func.return %dx : tensor<1x4x3x5xf32>
}
// CHECK-LABEL: func.func @nxc(
// CHECK-NEXT: %dx = onnx.Constant dense<[[1.000000e+00, 7.500000e-01, 2.500000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 2.500000e-01, 7.500000e-01, 7.500000e-01, 2.500000e-01, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 2.500000e-01, 7.500000e-01, 1.000000e+00]]> : tensor<3x6xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dx, %dy {gradc.strategy = "resize-to-matmul"} : (tensor<3x6xf32>, tensor<1x2x6x5xf32>) -> tensor<1x2x3x5xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<[[5.000000e-01, 0.000000e+00], [5.000000e-01, 0.000000e+00], [0.000000e+00, 5.000000e-01], [0.000000e+00, 5.000000e-01]]> : tensor<4x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[1, 2, 15]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_1, %dx_3 {gradc.strategy = "resize-to-matmul"} : (tensor<1x2x3x5xf32>, tensor<3xi64>) -> tensor<1x2x15xf32>
// CHECK-NEXT: %dx_5 = onnx.MatMul %dx_2, %dx_4 {gradc.strategy = "resize-to-matmul"} : (tensor<4x2xf32>, tensor<1x2x15xf32>) -> tensor<1x4x15xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[1, 4, 3, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_5, %dx_6 {gradc.strategy = "resize-to-matmul"} : (tensor<1x4x15xf32>, tensor<4xi64>) -> tensor<1x4x3x5xf32>
// CHECK-NEXT: func.return %dx_7 : tensor<1x4x3x5xf32>

// The matrix has the data's dtype.
func.func @f64(%dy: tensor<1x1x4xf64>) -> tensor<1x1x2xf64> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x1x4xf64>) -> tensor<1x1x2xf64>
  func.return %dx : tensor<1x1x2xf64>
}
// CHECK-LABEL: func.func @f64(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-matmul"} dense<[[1.000000e+00, 0.000000e+00], [7.500000e-01, 2.500000e-01], [2.500000e-01, 7.500000e-01], [0.000000e+00, 1.000000e+00]]> : tensor<4x2xf64>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dy, %dx {gradc.strategy = "resize-to-matmul"} : (tensor<1x1x4xf64>, tensor<4x2xf64>) -> tensor<1x1x2xf64>
// CHECK-NEXT: func.return %dx_1 : tensor<1x1x2xf64>
