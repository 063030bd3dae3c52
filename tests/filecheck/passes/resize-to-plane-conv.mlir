// RUN: gradc-opt %s -p resize-to-plane-conv,simplify | filecheck %s

// 6 to 4, periods of 3 to 2: two output channels, stride 3; the ends are weighed by themselves. The last
// axis is an image of one row, the other has it as its width.
func.func @rational(%dy: tensor<1x2x6x6xf32>) -> tensor<1x2x4x4xf32> {
  %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 4], step_numerators = [2, 2], step_denominators = [3, 3], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x6xf32>) -> tensor<1x2x4x4xf32>
  func.return %dx : tensor<1x2x4x4xf32>
}
// CHECK-LABEL: func.func @rational(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[2, 1, 6, 6]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x6x6xf32>, tensor<4xi64>) -> tensor<2x1x6x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[[[[0.166666672], [0.833333313], [5.000000e-01], [0.000000e+00], [0.000000e+00]]], [[[0.000000e+00], [0.000000e+00], [5.000000e-01], [0.833333313], [0.166666672]]]]> : tensor<2x1x5x1xf32>
// CHECK-NEXT: %dx_3 = onnx.Conv %dx_1, %dx_2 {pads = [1, 0, 1, 0], strides = [3, 1], gradc.strategy = "resize-to-plane-conv"} : (tensor<2x1x6x6xf32>, tensor<2x1x5x1xf32>) -> tensor<2x2x2x6xf32>
// CHECK-NEXT: %dx_4 = onnx.Transpose %dx_3 {perm = [0, 2, 1, 3], gradc.strategy = "resize-to-plane-conv"} : (tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[1, 2, 4, 6]> : tensor<4xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_4, %dx_5 {gradc.strategy = "resize-to-plane-conv"} : (tensor<2x2x2x6xf32>, tensor<4xi64>) -> tensor<1x2x4x6xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[1, 2, 1]> : tensor<3xi64>
// CHECK-NEXT: %dx_8, %dx_9, %dx_10 = onnx.Split %dx_6, %dx_7 {axis = 2, gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x6xf32>, tensor<3xi64>) -> (tensor<1x2x1x6xf32>, tensor<1x2x2x6xf32>, tensor<1x2x1x6xf32>)
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Slice %dy, %dx_11, %dx_12, %dx_13 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x6x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x1x6xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant dense<0.166666672> : tensor<1x1xf32>
// CHECK-NEXT: %dx_16 = onnx.MatMul %dx_15, %dx_14 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x1xf32>, tensor<1x2x1x6xf32>) -> tensor<1x2x1x6xf32>
// CHECK-NEXT: %dx_17 = onnx.Add %dx_8, %dx_16 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x1x6xf32>, tensor<1x2x1x6xf32>) -> tensor<1x2x1x6xf32>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<5> : tensor<1xi64>
// CHECK-NEXT: %dx_19 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<6> : tensor<1xi64>
// CHECK-NEXT: %dx_20 = onnx.Slice %dy, %dx_18, %dx_19, %dx_13 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x6x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x1x6xf32>
// CHECK-NEXT: %dx_21 = onnx.MatMul %dx_15, %dx_20 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x1xf32>, tensor<1x2x1x6xf32>) -> tensor<1x2x1x6xf32>
// CHECK-NEXT: %dx_22 = onnx.Add %dx_10, %dx_21 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x1x6xf32>, tensor<1x2x1x6xf32>) -> tensor<1x2x1x6xf32>
// CHECK-NEXT: %dx_23 = onnx.Concat %dx_17, %dx_9, %dx_22 {axis = 2, gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x1x6xf32>, tensor<1x2x2x6xf32>, tensor<1x2x1x6xf32>) -> tensor<1x2x4x6xf32>
// CHECK-NEXT: %dx_24 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[8, 1, 1, 6]> : tensor<4xi64>
// CHECK-NEXT: %dx_25 = onnx.Reshape %dx_23, %dx_24 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x6xf32>, tensor<4xi64>) -> tensor<8x1x1x6xf32>
// CHECK-NEXT: %dx_26 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[[[[0.166666672, 0.833333313, 5.000000e-01, 0.000000e+00, 0.000000e+00]]], [[[0.000000e+00, 0.000000e+00, 5.000000e-01, 0.833333313, 0.166666672]]]]> : tensor<2x1x1x5xf32>
// CHECK-NEXT: %dx_27 = onnx.Conv %dx_25, %dx_26 {pads = [0, 1, 0, 1], strides = [1, 3], gradc.strategy = "resize-to-plane-conv"} : (tensor<8x1x1x6xf32>, tensor<2x1x1x5xf32>) -> tensor<8x2x1x2xf32>
// CHECK-NEXT: %dx_28 = onnx.Transpose %dx_27 {perm = [0, 2, 3, 1], gradc.strategy = "resize-to-plane-conv"} : (tensor<8x2x1x2xf32>) -> tensor<8x1x2x2xf32>
// CHECK-NEXT: %dx_29 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<[1, 2, 4, 4]> : tensor<4xi64>
// CHECK-NEXT: %dx_30 = onnx.Reshape %dx_28, %dx_29 {gradc.strategy = "resize-to-plane-conv"} : (tensor<8x1x2x2xf32>, tensor<4xi64>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: %dx_31, %dx_32, %dx_33 = onnx.Split %dx_30, %dx_7 {axis = 3, gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x4xf32>, tensor<3xi64>) -> (tensor<1x2x4x1xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>)
// CHECK-NEXT: %dx_34 = onnx.Constant {gradc.strategy = "resize-to-plane-conv"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_35 = onnx.Slice %dx_23, %dx_11, %dx_12, %dx_34 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x4x1xf32>
// CHECK-NEXT: %dx_36 = onnx.MatMul %dx_35, %dx_15 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x1xf32>, tensor<1x1xf32>) -> tensor<1x2x4x1xf32>
// CHECK-NEXT: %dx_37 = onnx.Add %dx_31, %dx_36 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x1xf32>, tensor<1x2x4x1xf32>) -> tensor<1x2x4x1xf32>
// CHECK-NEXT: %dx_38 = onnx.Slice %dx_23, %dx_18, %dx_19, %dx_34 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x4x1xf32>
// CHECK-NEXT: %dx_39 = onnx.MatMul %dx_38, %dx_15 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x1xf32>, tensor<1x1xf32>) -> tensor<1x2x4x1xf32>
// CHECK-NEXT: %dx_40 = onnx.Add %dx_33, %dx_39 {gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x1xf32>, tensor<1x2x4x1xf32>) -> tensor<1x2x4x1xf32>
// CHECK-NEXT: %dx_41 = onnx.Concat %dx_37, %dx_32, %dx_40 {axis = 3, gradc.strategy = "resize-to-plane-conv"} : (tensor<1x2x4x1xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return %dx_41 : tensor<1x2x4x4xf32>

// nearest: nothing is clamped.
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
