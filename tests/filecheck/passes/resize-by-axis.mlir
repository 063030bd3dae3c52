// RUN: gradc-opt %s -p resize-by-axis,simplify | filecheck %s

// One axis has one form: left for that form's strategy.
func.func @one(%dy: tensor<1x4x2xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x4x2xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @one(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x4x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x2xf32>

// Two short axes: two dense products.
func.func @short(%dy: tensor<1x3x5x7xf32>) -> tensor<1x3x4x6xf32> {
  %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 6], step_numerators = [4, 6], step_denominators = [5, 7], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x5x7xf32>) -> tensor<1x3x4x6xf32>
  func.return %dx : tensor<1x3x4x6xf32>
}
// CHECK-LABEL: func.func @short(
// CHECK-NEXT: %dx = onnx.Constant dense<[[1.000000e+00, 3.000000e-01, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 7.000000e-01, 5.000000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 5.000000e-01, 7.000000e-01, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 3.000000e-01, 1.000000e+00]]> : tensor<4x5xf32>
// CHECK-NEXT: %dx_1 = onnx.MatMul %dx, %dy {gradc.strategy = "resize-by-axis"} : (tensor<4x5xf32>, tensor<1x3x5x7xf32>) -> tensor<1x3x4x7xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-by-axis"} dense<[[1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.214285716, 0.785714269, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.357142866, 0.642857134, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 5.000000e-01, 5.000000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.642857134, 0.357142866, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.785714269, 0.214285716], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00]]> : tensor<7x6xf32>
// CHECK-NEXT: %dx_3 = onnx.MatMul %dx_1, %dx_2 {gradc.strategy = "resize-by-axis"} : (tensor<1x3x4x7xf32>, tensor<7x6xf32>) -> tensor<1x3x4x6xf32>
// CHECK-NEXT: func.return %dx_3 : tensor<1x3x4x6xf32>
