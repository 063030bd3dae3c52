// RUN: gradc-opt %s -p 'conv-to-tap-sums{strict_ieee=true},simplify' | filecheck %s
// RUN: gradc-opt %s -p conv-to-tap-sums | filecheck %s --check-prefix=LOOSE

// Two taps, stride 2: a zero behind each position, moved by 0 and by 1, and cut by a pad at the begin.
func.func @strided(%dy: tensor<?x4x?xf32>, %w: tensor<4x3x2xf32>) -> tensor<?x3x?xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<?x4x?xf32>, tensor<4x3x2xf32>) -> tensor<?x3x?xf32>
  func.return %dx : tensor<?x3x?xf32>
}
// LOOSE-LABEL: func.func @strided(
// LOOSE-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<?x4x?xf32>, tensor<4x3x2xf32>) -> tensor<?x3x?xf32>
// LOOSE-NEXT: func.return %dx : tensor<?x3x?xf32>
// CHECK-LABEL: func.func @strided(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 4, 3, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-tap-sums"} : (tensor<4x3x2xf32>, tensor<4xi64>) -> tensor<1x4x3x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 3, 2, 1], gradc.strategy = "conv-to-tap-sums"} : (tensor<1x4x3x2xf32>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 6, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x2x3x4xf32>, tensor<3xi64>) -> tensor<1x6x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Shape %dy {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Gather %dx_5, %dx_6 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Gather %dx_5, %dx_8 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Concat %dx_7, %dx_10, %dx_11, %dx_9 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT: %dx_13 = onnx.Reshape %dy, %dx_12 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x4x?xf32>, tensor<4xi64>) -> tensor<?x1x4x?xf32>
// CHECK-NEXT: %dx_14 = onnx.Unsqueeze %dx_4, %dx_6 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x6x4xf32>, tensor<1xi64>) -> tensor<1x1x6x4xf32>
// CHECK-NEXT: %dx_15 = onnx.Shape %dx_13 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x1x4x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %dx_16 = onnx.Gather %dx_15, %dx_6 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Min %dx_16, %dx_10 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_18 = onnx.Slice %dx_14, %dx_6, %dx_17, %dx_6 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x1x6x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x1x6x4xf32>
// CHECK-NEXT: %dx_19 = onnx.MatMul %dx_18, %dx_13 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x1x6x4xf32>, tensor<?x1x4x?xf32>) -> tensor<?x1x6x?xf32>
// CHECK-NEXT: %dx_20 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<3> : tensor<2xi64>
// CHECK-NEXT: %dx_21, %dx_22 = onnx.Split %dx_19, %dx_20 {axis = 2, gradc.strategy = "conv-to-tap-sums"} : (tensor<?x1x6x?xf32>, tensor<2xi64>) -> (tensor<?x1x3x?xf32>, tensor<?x1x3x?xf32>)
// CHECK-NEXT: %dx_23 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_24 = onnx.Concat %dx_7, %dx_23, %dx_9 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_25 = onnx.Reshape %dx_21, %dx_24 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x1x3x?xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_26 = onnx.Reshape %dx_22, %dx_24 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x1x3x?xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_27 = onnx.Shape %dx_25 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_28 = onnx.Gather %dx_27, %dx_6 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_29 = onnx.Gather %dx_27, %dx_8 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_30 = onnx.Unsqueeze %dx_25, %dx_23 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>, tensor<1xi64>) -> tensor<?x3x?x1xf32>
// CHECK-NEXT: %dx_31 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[0, 0, 0, 0, 0, 0, 0, 1]> : tensor<8xi64>
// CHECK-NEXT: %dx_32 = onnx.Pad %dx_30, %dx_31 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?x1xf32>, tensor<8xi64>) -> tensor<?x3x?x2xf32>
// CHECK-NEXT: %dx_33 = onnx.Mul %dx_29, %dx_8 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_34 = onnx.Concat %dx_28, %dx_23, %dx_33 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_35 = onnx.Reshape %dx_32, %dx_34 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?x2xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_36 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<9223372036854775807> : tensor<1xi64>
// CHECK-NEXT: %dx_37 = onnx.Shape %dx_26 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_38 = onnx.Gather %dx_37, %dx_6 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_39 = onnx.Gather %dx_37, %dx_8 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_40 = onnx.Unsqueeze %dx_26, %dx_23 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>, tensor<1xi64>) -> tensor<?x3x?x1xf32>
// CHECK-NEXT: %dx_41 = onnx.Pad %dx_40, %dx_31 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?x1xf32>, tensor<8xi64>) -> tensor<?x3x?x2xf32>
// CHECK-NEXT: %dx_42 = onnx.Mul %dx_39, %dx_8 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_43 = onnx.Concat %dx_38, %dx_23, %dx_42 {axis = 0, gradc.strategy = "conv-to-tap-sums"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_44 = onnx.Reshape %dx_41, %dx_43 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?x2xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_45 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[0, 0, 1, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_46 = onnx.Pad %dx_44, %dx_45 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>, tensor<6xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_47 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<-1> : tensor<1xi64>
// CHECK-NEXT: %dx_48 = onnx.Slice %dx_46, %dx_6, %dx_47, %dx_8, %dx_10 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_49 = onnx.Add %dx_35, %dx_48 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>, tensor<?x3x?xf32>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_50 = onnx.Slice %dx_49, %dx_10, %dx_36, %dx_8, %dx_10 {gradc.strategy = "conv-to-tap-sums"} : (tensor<?x3x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: func.return %dx_50 : tensor<?x3x?xf32>

// The gradient of a transposed convolution: zeros around what the taps give, not around what they read.
func.func @forward(%dy: tensor<1x4x5xf32>, %w: tensor<3x4x2xf32>) -> tensor<1x3x3xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x5xf32>, tensor<3x4x2xf32>) -> tensor<1x3x3xf32>
  func.return %dx : tensor<1x3x3xf32>
}
// LOOSE-LABEL: func.func @forward(
// LOOSE-NEXT: %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x5xf32>, tensor<3x4x2xf32>) -> tensor<1x3x3xf32>
// LOOSE-NEXT: func.return %dx : tensor<1x3x3xf32>
// CHECK-LABEL: func.func @forward(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 3, 4, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-tap-sums"} : (tensor<3x4x2xf32>, tensor<4xi64>) -> tensor<1x3x4x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 3, 1, 2], gradc.strategy = "conv-to-tap-sums"} : (tensor<1x3x4x2xf32>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 6, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x2x3x4xf32>, tensor<3xi64>) -> tensor<1x6x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 1, 4, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dy, %dx_5 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x4x5xf32>, tensor<4xi64>) -> tensor<1x1x4x5xf32>
// CHECK-NEXT: %dx_7 = onnx.MatMul %dx_4, %dx_6 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x6x4xf32>, tensor<1x1x4x5xf32>) -> tensor<1x1x6x5xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<3> : tensor<2xi64>
// CHECK-NEXT: %dx_9, %dx_10 = onnx.Split %dx_7, %dx_8 {axis = 2, gradc.strategy = "conv-to-tap-sums"} : (tensor<1x1x6x5xf32>, tensor<2xi64>) -> (tensor<1x1x3x5xf32>, tensor<1x1x3x5xf32>)
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 3, 5]> : tensor<3xi64>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_9, %dx_11 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x1x3x5xf32>, tensor<3xi64>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %dx_13 = onnx.Reshape %dx_10, %dx_11 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x1x3x5xf32>, tensor<3xi64>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[0, 0, 1, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_15 = onnx.Pad %dx_12, %dx_14 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x3x5xf32>, tensor<6xi64>) -> tensor<1x3x6xf32>
// CHECK-NEXT: %dx_16 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<-1> : tensor<1xi64>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_19 = onnx.Slice %dx_15, %dx_16, %dx_17, %dx_18, %dx_18 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x3x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x3xf32>
// CHECK-NEXT: %dx_20 = onnx.Pad %dx_13, %dx_14 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x3x5xf32>, tensor<6xi64>) -> tensor<1x3x6xf32>
// CHECK-NEXT: %dx_21 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_22 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<9223372036854775807> : tensor<1xi64>
// CHECK-NEXT: %dx_23 = onnx.Slice %dx_20, %dx_21, %dx_22, %dx_18, %dx_18 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x3x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x3xf32>
// CHECK-NEXT: %dx_24 = onnx.Add %dx_19, %dx_23 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
// CHECK-NEXT: func.return %dx_24 : tensor<1x3x3xf32>

// Groups: a product for each.
func.func @grouped(%dy: tensor<1x4x3xf32>, %w: tensor<4x1x1xf32>) -> tensor<1x2x3xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x1x1xf32>) -> tensor<1x2x3xf32>
  func.return %dx : tensor<1x2x3xf32>
}
// LOOSE-LABEL: func.func @grouped(
// LOOSE-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x1x1xf32>) -> tensor<1x2x3xf32>
// LOOSE-NEXT: func.return %dx : tensor<1x2x3xf32>
// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[2, 2, 1, 1]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-tap-sums"} : (tensor<4x1x1xf32>, tensor<4xi64>) -> tensor<2x2x1x1xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 3, 2, 1], gradc.strategy = "conv-to-tap-sums"} : (tensor<2x2x1x1xf32>) -> tensor<2x1x1x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[2, 1, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-tap-sums"} : (tensor<2x1x1x2xf32>, tensor<3xi64>) -> tensor<2x1x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 2, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dy, %dx_5 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x4x3xf32>, tensor<4xi64>) -> tensor<1x2x2x3xf32>
// CHECK-NEXT: %dx_7 = onnx.MatMul %dx_4, %dx_6 {gradc.strategy = "conv-to-tap-sums"} : (tensor<2x1x2xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-tap-sums"} dense<[1, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_9 = onnx.Reshape %dx_7, %dx_8 {gradc.strategy = "conv-to-tap-sums"} : (tensor<1x2x1x3xf32>, tensor<3xi64>) -> tensor<1x2x3xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<1x2x3xf32>
