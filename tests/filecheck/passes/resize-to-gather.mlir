// RUN: gradc-opt %s -p resize-to-gather,simplify | filecheck %s

// 3 to 4 positions, nearest: position 1 reads rows 1 and 2, the others one row each.
func.func @nearest(%dy: tensor<1x4x2xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x4x2xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-gather"} dense<[0, 0, 0, 0, 1, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "resize-to-gather"} : (tensor<1x4x2xf32>, tensor<6xi64>) -> tensor<1x5x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-gather"} dense<[0, 1, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 1, gradc.strategy = "resize-to-gather"} : (tensor<1x5x2xf32>, tensor<3xi64>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-gather"} dense<[4, 2, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %dx_1, %dx_4 {axis = 1, gradc.strategy = "resize-to-gather"} : (tensor<1x5x2xf32>, tensor<3xi64>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_6 = onnx.Add %dx_3, %dx_5 {gradc.strategy = "resize-to-gather"} : (tensor<1x3x2xf32>, tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx_6 : tensor<1x3x2xf32>
