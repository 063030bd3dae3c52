// RUN: gradc-opt %s -p resize-to-ordered-sums,simplify | filecheck %s

// 3 to 2 and 3 to 2 positions, nearest: positions read 2 and 1 rows, so 4, 2, 2 and 1 of both axes.
func.func @nearest(%dy: tensor<1x3x3x2xf32>) -> tensor<1x2x2x2xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [2, 2], step_numerators = [2, 2], step_denominators = [3, 3], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x3x3x2xf32>) -> tensor<1x2x2x2xf32>
  func.return %dx : tensor<1x2x2x2xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<[1, 9, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<8> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x9x2xf32>, tensor<1xi64>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<[2, 6]> : tensor<2xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %dx_1, %dx_4 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x9x2xf32>, tensor<2xi64>) -> tensor<1x2x2xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<[5, 7]> : tensor<2xi64>
// CHECK-NEXT: %dx_7 = onnx.Gather %dx_1, %dx_6 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x9x2xf32>, tensor<2xi64>) -> tensor<1x2x2xf32>
// CHECK-NEXT: %dx_8 = onnx.Add %dx_5, %dx_7 {gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Gather %dx_1, %dx_9 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x9x2xf32>, tensor<1xi64>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Gather %dx_1, %dx_11 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x9x2xf32>, tensor<1xi64>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_13 = onnx.Add %dx_10, %dx_12 {gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_15 = onnx.Gather %dx_1, %dx_14 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x9x2xf32>, tensor<1xi64>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_16 = onnx.Add %dx_13, %dx_15 {gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_18 = onnx.Gather %dx_1, %dx_17 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x9x2xf32>, tensor<1xi64>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_19 = onnx.Add %dx_16, %dx_18 {gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
// CHECK-NEXT: %dx_20 = onnx.Concat %dx_3, %dx_8, %dx_19 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x1x2xf32>, tensor<1x2x2xf32>, tensor<1x1x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT: %dx_21 = onnx.Constant {gradc.strategy = "resize-to-ordered-sums"} dense<[[3, 1], [2, 0]]> : tensor<2x2xi64>
// CHECK-NEXT: %dx_22 = onnx.Gather %dx_20, %dx_21 {axis = 1, gradc.strategy = "resize-to-ordered-sums"} : (tensor<1x4x2xf32>, tensor<2x2xi64>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return %dx_22 : tensor<1x2x2x2xf32>

// Every position reads 2: resize-to-reduce-sum and others are for those.
func.func @alike(%dy: tensor<1x4x2xf32>) -> tensor<1x2x2xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x4x2xf32>) -> tensor<1x2x2xf32>
  func.return %dx : tensor<1x2x2xf32>
}
// CHECK-LABEL: func.func @alike(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [1], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x4x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x2xf32>
