// RUN: gradc-opt %s -p resize-to-banded-matmul,simplify | filecheck %s

// Two blocks: positions 0 and 1 are read from rows 0 to 4, positions 2 and 3 from rows 3 to 7.
func.func @linear(%dy: tensor<1x3x8xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @linear(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<5> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Slice %dy, %dx, %dx_1, %dx_2 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x3x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<[[1.000000e+00, 0.000000e+00], [7.500000e-01, 2.500000e-01], [2.500000e-01, 7.500000e-01], [0.000000e+00, 7.500000e-01], [0.000000e+00, 2.500000e-01]]> : tensor<5x2xf32>
// CHECK-NEXT: %dx_5 = onnx.MatMul %dx_3, %dx_4 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x3x5xf32>, tensor<5x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<8> : tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Slice %dy, %dx_6, %dx_7, %dx_2 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x3x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<[[2.500000e-01, 0.000000e+00], [7.500000e-01, 0.000000e+00], [7.500000e-01, 2.500000e-01], [2.500000e-01, 7.500000e-01], [0.000000e+00, 1.000000e+00]]> : tensor<5x2xf32>
// CHECK-NEXT: %dx_10 = onnx.MatMul %dx_8, %dx_9 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x3x5xf32>, tensor<5x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_11 = onnx.Concat %dx_5, %dx_10 {axis = 2, gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x3x2xf32>, tensor<1x3x2xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx_11 : tensor<1x3x4xf32>

// An axis that is not the last is multiplied from the left. Position 1 is read by no row: a row of zeros.
func.func @unread(%dy: tensor<1x2x3xf32>) -> tensor<1x4x3xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [4], step_numerators = [2], step_denominators = [1], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x3xf32>) -> tensor<1x4x3xf32>
  func.return %dx : tensor<1x4x3xf32>
}
// CHECK-LABEL: func.func @unread(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Slice %dy, %dx, %dx_1, %dx_1 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x1x3xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant dense<[[1.000000e+00], [0.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT: %dx_4 = onnx.MatMul %dx_3, %dx_2 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<2x1xf32>, tensor<1x1x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-to-banded-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Slice %dy, %dx_1, %dx_5, %dx_1 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x1x3xf32>
// CHECK-NEXT: %dx_7 = onnx.MatMul %dx_3, %dx_6 {gradc.strategy = "resize-to-banded-matmul"} : (tensor<2x1xf32>, tensor<1x1x3xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %dx_8 = onnx.Concat %dx_4, %dx_7 {axis = 1, gradc.strategy = "resize-to-banded-matmul"} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT: func.return %dx_8 : tensor<1x4x3xf32>

// One position is one block, which is no strategy of its own: left for another.
func.func @refused(%dy: tensor<1x2x3xf32>) -> tensor<1x2x1xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [1], step_numerators = [1], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x3xf32>) -> tensor<1x2x1xf32>
  func.return %dx : tensor<1x2x1xf32>
}
// CHECK-LABEL: func.func @refused(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2], input_sizes = [1], step_numerators = [1], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x3xf32>) -> tensor<1x2x1xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x1xf32>
