// RUN: gradc-opt %s -p resize-to-reduce-sum,simplify | filecheck %s

// Factors 2 and 3: sums of 2 rows and of 3 columns, an axis after the other.
func.func @nearest(%dy: tensor<1x1x4x6xf32>) -> tensor<1x1x2x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [2, 2], step_numerators = [1, 1], step_denominators = [2, 3], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x1x4x6xf32>) -> tensor<1x1x2x2xf32>
  func.return %dx : tensor<1x1x2x2xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<[1, 1, 4, 2, 3]> : tensor<5xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x6xf32>, tensor<5xi64>) -> tensor<1x1x4x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 4, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2x3xf32>, tensor<i64>) -> tensor<1x1x4x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_5 = onnx.Gather %dx_1, %dx_4 {axis = 4, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2x3xf32>, tensor<i64>) -> tensor<1x1x4x2xf32>
// CHECK-NEXT: %dx_6 = onnx.Add %dx_3, %dx_5 {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>) -> tensor<1x1x4x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<2> : tensor<i64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx_1, %dx_7 {axis = 4, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2x3xf32>, tensor<i64>) -> tensor<1x1x4x2xf32>
// CHECK-NEXT: %dx_9 = onnx.Add %dx_6, %dx_8 {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>) -> tensor<1x1x4x2xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "resize-to-reduce-sum"} dense<[1, 1, 2, 2, 2]> : tensor<5xi64>
// CHECK-NEXT: %dx_11 = onnx.Reshape %dx_9, %dx_10 {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x4x2xf32>, tensor<5xi64>) -> tensor<1x1x2x2x2xf32>
// CHECK-NEXT: %dx_12 = onnx.Gather %dx_11, %dx_2 {axis = 3, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x2x2x2xf32>, tensor<i64>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %dx_13 = onnx.Gather %dx_11, %dx_4 {axis = 3, gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x2x2x2xf32>, tensor<i64>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: %dx_14 = onnx.Add %dx_12, %dx_13 {gradc.strategy = "resize-to-reduce-sum"} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: func.return %dx_14 : tensor<1x1x2x2xf32>
