// RUN: gradc-opt %s -p resize-to-upsample,simplify | filecheck %s

// Halved: every position is read with a half on both axes, so a quarter is given to each.
func.func @halved(%dy: tensor<1x2x2x3xf32>) -> tensor<1x2x4x6xf32> {
  %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 6], step_numerators = [2, 2], step_denominators = [1, 1], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x2x3xf32>) -> tensor<1x2x4x6xf32>
  func.return %dx : tensor<1x2x4x6xf32>
}
// CHECK-LABEL: func.func @halved(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-upsample"} dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: %dx_1 = onnx.Mul %dy, %dx {gradc.strategy = "resize-to-upsample"} : (tensor<1x2x2x3xf32>, tensor<f32>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-upsample"} dense<[1.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %dx_3 = onnx.Resize %dx_1, _, %dx_2 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "resize-to-upsample"} : (tensor<1x2x2x3xf32>, tensor<4xf32>) -> tensor<1x2x4x6xf32>
// CHECK-NEXT: func.return %dx_3 : tensor<1x2x4x6xf32>

// By three, one axis: the middle one of each three is read.
func.func @third(%dy: tensor<1x2x2xf32>) -> tensor<1x2x6xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [6], step_numerators = [3], step_denominators = [1], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x2xf32>) -> tensor<1x2x6xf32>
  func.return %dx : tensor<1x2x6xf32>
}
// CHECK-LABEL: func.func @third(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-upsample"} dense<[1, 1, 2, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-upsample"} : (tensor<1x2x2xf32>, tensor<4xi64>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-upsample"} dense<[1.000000e+00, 1.000000e+00, 1.000000e+00, 3.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %dx_3 = onnx.Resize %dx_1, _, %dx_2 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "resize-to-upsample"} : (tensor<1x1x2x2xf32>, tensor<4xf32>) -> tensor<1x1x2x6xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-upsample"} dense<[1, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %dx_3, %dx_4 {gradc.strategy = "resize-to-upsample"} : (tensor<1x1x2x6xf32>, tensor<3xi64>) -> tensor<1x2x6xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-to-upsample"} dense<[[0.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00]]> : tensor<1x6xf32>
// CHECK-NEXT: %dx_7 = onnx.Mul %dx_5, %dx_6 {gradc.strategy = "resize-to-upsample"} : (tensor<1x2x6xf32>, tensor<1x6xf32>) -> tensor<1x2x6xf32>
// CHECK-NEXT: func.return %dx_7 : tensor<1x2x6xf32>

// Channels last, and by no whole factor: refused.
func.func @refused(%dy: tensor<1x2x3x2xf32>, %dz: tensor<1x2x3xf32>) -> (tensor<1x4x6x2xf32>, tensor<1x2x4xf32>) {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [4, 6], step_numerators = [2, 2], step_denominators = [1, 1], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x3x2xf32>) -> tensor<1x4x6x2xf32>
  %dw = grad.resize_backward %dz {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x3xf32>) -> tensor<1x2x4xf32>
  func.return %dx, %dw : tensor<1x4x6x2xf32>, tensor<1x2x4xf32>
}
// CHECK-LABEL: func.func @refused(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [4, 6], step_numerators = [2, 2], step_denominators = [1, 1], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x3x2xf32>) -> tensor<1x4x6x2xf32>
// CHECK-NEXT: %dw = grad.resize_backward %dz {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x3xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: func.return %dx, %dw : tensor<1x4x6x2xf32>, tensor<1x2x4xf32>
