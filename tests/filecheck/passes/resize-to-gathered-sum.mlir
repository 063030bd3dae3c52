// RUN: gradc-opt %s -p 'resize-to-gathered-sum{strict_ieee=true},simplify' | filecheck %s
// RUN: gradc-opt %s -p resize-to-gathered-sum | filecheck %s --check-prefix=LOOSE

// 3 to 4 positions, nearest: position 1 reads rows 1 and 2, the others one row each and the zeros behind.
func.func @nearest(%dy: tensor<1x4x2xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x4x2xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// LOOSE-LABEL: func.func @nearest(
// LOOSE-NEXT: %dx = grad.resize_backward %dy {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x4x2xf32>) -> tensor<1x3x2xf32>
// LOOSE-NEXT: func.return %dx : tensor<1x3x2xf32>
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-gathered-sum"} dense<[[0, 4], [1, 2], [3, 4]]> : tensor<3x2xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "resize-to-gathered-sum"} dense<[0, 0, 0, 0, 1, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_2 = onnx.Pad %dy, %dx_1 {gradc.strategy = "resize-to-gathered-sum"} : (tensor<1x4x2xf32>, tensor<6xi64>) -> tensor<1x5x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_2, %dx {axis = 1, gradc.strategy = "resize-to-gathered-sum"} : (tensor<1x5x2xf32>, tensor<3x2xi64>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-gathered-sum"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant dense<[[[1.000000e+00], [0.000000e+00]], [[1.000000e+00], [1.000000e+00]], [[1.000000e+00], [0.000000e+00]]]> : tensor<3x2x1xf32>
// CHECK-NEXT: %dx_6 = onnx.Mul %dx_3, %dx_5 {gradc.strategy = "resize-to-gathered-sum"} : (tensor<1x3x2x2xf32>, tensor<3x2x1xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: %dx_7 = onnx.ReduceSum %dx_6, %dx_4 {keepdims = 0, gradc.strategy = "resize-to-gathered-sum"} : (tensor<1x3x2x2xf32>, tensor<1xi64>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx_7 : tensor<1x3x2xf32>
