// RUN: gradc-opt %s -p resize-to-plane-conv,simplify | filecheck %s

// 6 to 4, periods of 3 to 2: two output channels, stride 3; the ends are weighed by themselves.
func.func @rational(%dy: tensor<1x2x6x3xf32>) -> tensor<1x2x4x3xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [2], step_denominators = [3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %dx : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @rational(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[2, 1, 6, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x6x3xf32>, tensor<4xi64>) -> tensor<2x1x6x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[[[[0.166666672], [0.833333313], [5.000000e-01], [0.000000e+00], [0.000000e+00]]], [[[0.000000e+00], [0.000000e+00], [5.000000e-01], [0.833333313], [0.166666672]]]]> : tensor<2x1x5x1xf32>
// CHECK-NEXT: %dx_3 = onnx.Conv %dx_1, %dx_2 {pads = [1, 0, 1, 0], strides = [3, 1], gradc.strategy = "resize-to-plane-conv"} : (tensor<2x1x6x3xf32>, tensor<2x1x5x1xf32>) -> tensor<2x2x2x3xf32>
// CHECK-NEXT: %dx_4 = onnx.Transpose %dx_3 {perm = [0, 2, 1, 3], gradc.strategy = "resize-to-plane-conv"} : (tensor<2x2x2x3xf32>) -> tensor<2x2x2x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[1, 2, 4, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_4, %dx_5 {gradc.strategy = "resize-to-plane-conv"} : (tensor<2x2x2x3xf32>, tensor<4xi64>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[1, 2, 1]> : tensor<3xi64>
// CHECK-NEXT: %dx_8, %dx_9, %dx_10 = onnx.Split %dx_6, %dx_7 {axis = 2, gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x3xf32>, tensor<3xi64>) -> (tensor<1x2x1x3xf32>, tensor<1x2x2x3xf32>, tensor<1x2x1x3xf32>)
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Slice %dy, %dx_11, %dx_12, %dx_13 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x6x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant dense<0.166666672> : tensor<1x1xf32>
// CHECK-NEXT: %dx_16 = onnx.MatMul %dx_15, %dx_14 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x1xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_17 = onnx.Add %dx_8, %dx_16 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<5> : tensor<1xi64>
// CHECK-NEXT: %dx_19 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<6> : tensor<1xi64>
// CHECK-NEXT: %dx_20 = onnx.Slice %dy, %dx_18, %dx_19, %dx_13 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x6x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_21 = onnx.MatMul %dx_15, %dx_20 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x1xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_22 = onnx.Add %dx_10, %dx_21 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x1x3xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_23 = onnx.Concat %dx_17, %dx_9, %dx_22 {axis = 2, gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x1x3xf32>, tensor<1x2x2x3xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %dx_23 : tensor<1x2x4x3xf32>

// The last axis, nearest: an image of one row, and nothing is clamped.
func.func @last(%dy: tensor<2x3x9xf32>) -> tensor<2x3x6xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [6], step_numerators = [2], step_denominators = [3], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<2x3x9xf32>) -> tensor<2x3x6xf32>
  func.return %dx : tensor<2x3x6xf32>
}
// CHECK-LABEL: func.func @last(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[6, 1, 1, 9]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-plane-conv"} : (tensor<2x3x9xf32>, tensor<4xi64>) -> tensor<6x1x1x9xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[[[[1.000000e+00, 1.000000e+00, 0.000000e+00]]], [[[0.000000e+00, 0.000000e+00, 1.000000e+00]]]]> : tensor<2x1x1x3xf32>
// CHECK-NEXT: %dx_3 = onnx.Conv %dx_1, %dx_2 {pads = [0, 0, 0, 0], strides = [1, 3], gradc.strategy = "resize-to-plane-conv"} : (tensor<6x1x1x9xf32>, tensor<2x1x1x3xf32>) -> tensor<6x2x1x3xf32>
// CHECK-NEXT: %dx_4 = onnx.Transpose %dx_3 {perm = [0, 2, 3, 1], gradc.strategy = "resize-to-plane-conv"} : (tensor<6x2x1x3xf32>) -> tensor<6x1x3x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[2, 3, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_4, %dx_5 {gradc.strategy = "resize-to-plane-conv"} : (tensor<6x1x3x2xf32>, tensor<3xi64>) -> tensor<2x3x6xf32>
// CHECK-NEXT: func.return %dx_6 : tensor<2x3x6xf32>
