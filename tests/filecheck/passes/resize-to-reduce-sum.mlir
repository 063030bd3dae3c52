// RUN: gradc-opt %s -p resize-to-reduce-sum,simplify | filecheck %s

// Factors 2 and 3: sums of 2 rows and of 3 columns, an axis after the other.
func.func @nearest(%dy: tensor<1x1x4x6xf32>) -> tensor<1x1x2x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [2, 2], step_numerators = [1, 1], step_denominators = [2, 3], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x1x4x6xf32>) -> tensor<1x1x2x2xf32>
  func.return %dx : tensor<1x1x2x2xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<[1, 1, 4, 2, 3]> : tensor<5xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x6xf32>, tensor<5xi64>) -> tensor<1x1x4x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.ReduceSum %dx_1, %dx_2 {keepdims = 0, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2x3xf32>, tensor<1xi64>) -> tensor<1x1x4x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<[1, 1, 2, 2, 2]> : tensor<5xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %dx_3, %dx_4 {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2xf32>, tensor<5xi64>) -> tensor<1x1x2x2x2xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_7 = onnx.Gather %dx_5, %dx_6 {axis = 3, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x2x2x2xf32>, tensor<i64>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_9 = onnx.Gather %dx_5, %dx_8 {axis = 3, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x2x2x2xf32>, tensor<i64>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %dx_10 = onnx.Add %dx_7, %dx_9 {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<1x1x2x2xf32>
