// RUN: gradc-opt %s -p conv-to-matmul,simplify | filecheck %s

// 1: weights (C, O) times diff_dst (N, O, Y).
func.func @pointwise(%dy: tensor<2x4x3x5xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<2x3x3x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<2x4x3x5xf32>, tensor<4x3x1x1xf32>) -> tensor<2x3x3x5xf32>
  func.return %dx : tensor<2x3x3x5xf32>
}
// CHECK-LABEL: func.func @pointwise(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 4, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<4x3x1x1xf32>, tensor<3xi64>) -> tensor<1x4x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x4x3xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 4, 15]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dy, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<2x4x3x5xf32>, tensor<3xi64>) -> tensor<2x4x15xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_2, %dx_5 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x4xf32>, tensor<2xi64>) -> tensor<3x4xf32>
// CHECK-NEXT: %dx_7 = onnx.MatMul %dx_6, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<3x4xf32>, tensor<2x4x15xf32>) -> tensor<2x3x15xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 3, 3, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_9 = onnx.Reshape %dx_7, %dx_8 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x15xf32>, tensor<4xi64>) -> tensor<2x3x3x5xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<2x3x3x5xf32>

// 1: a product per group.
func.func @grouped_pointwise(%dy: tensor<2x4x5xf32>, %w: tensor<4x3x1xf32>) -> tensor<2x6x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, residue = [0], layout = "NCX"} : (tensor<2x4x5xf32>, tensor<4x3x1xf32>) -> tensor<2x6x5xf32>
  func.return %dx : tensor<2x6x5xf32>
}
// CHECK-LABEL: func.func @grouped_pointwise(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<4x3x1xf32>, tensor<3xi64>) -> tensor<2x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 2, 2, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dy, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<2x4x5xf32>, tensor<4xi64>) -> tensor<2x2x2x5xf32>
// CHECK-NEXT: %dx_5 = onnx.MatMul %dx_2, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x2xf32>, tensor<2x2x2x5xf32>) -> tensor<2x2x3x5xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 6, 5]> : tensor<3xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_5, %dx_6 {gradc.strategy = "conv-to-matmul"} : (tensor<2x2x3x5xf32>, tensor<3xi64>) -> tensor<2x6x5xf32>
// CHECK-NEXT: func.return %dx_7 : tensor<2x6x5xf32>

// 1: s - 1 zeros behind every position, then the ends are cut: X = 2 * 2 + 1 = 5 of 6, 3 * 2 + 1 + 2 = 9 of 9.
func.func @strided_pointwise(%dy: tensor<1x2x3x3xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<1x3x5x9xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 3], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 2], layout = "NCX"} : (tensor<1x2x3x3xf32>, tensor<2x3x1x1xf32>) -> tensor<1x3x5x9xf32>
  func.return %dx : tensor<1x3x5x9xf32>
}
// CHECK-LABEL: func.func @strided_pointwise(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x1x1xf32>, tensor<3xi64>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 9]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dy, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3x3xf32>, tensor<3xi64>) -> tensor<1x2x9xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_2, %dx_5 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx_7 = onnx.MatMul %dx_6, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<3x2xf32>, tensor<1x2x9xf32>) -> tensor<1x3x9xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 3, 3, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_9 = onnx.Reshape %dx_7, %dx_8 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x9xf32>, tensor<4xi64>) -> tensor<1x3x3x3xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 5]> : tensor<2xi64>
// CHECK-NEXT: %dx_11 = onnx.Unsqueeze %dx_9, %dx_10 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x3x3xf32>, tensor<2xi64>) -> tensor<1x3x3x1x3x1xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2]> : tensor<12xi64>
// CHECK-NEXT: %dx_13 = onnx.Pad %dx_11, %dx_12 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x3x1x3x1xf32>, tensor<12xi64>) -> tensor<1x3x3x2x3x3xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 3, 6, 9]> : tensor<4xi64>
// CHECK-NEXT: %dx_15 = onnx.Reshape %dx_13, %dx_14 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x3x2x3x3xf32>, tensor<4xi64>) -> tensor<1x3x6x9xf32>
// CHECK-NEXT: %dx_16 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<0> : tensor<2xi64>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[5, 9]> : tensor<2xi64>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_19 = onnx.Slice %dx_15, %dx_16, %dx_17, %dx_18 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x6x9xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x3x5x9xf32>
// CHECK-NEXT: func.return %dx_19 : tensor<1x3x5x9xf32>

// 1: pads only take away.
func.func @padded_pointwise(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x1xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [2], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x1xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @padded_pointwise(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x1xf32>, tensor<3xi64>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx_5 = onnx.MatMul %dx_4, %dy {gradc.strategy = "conv-to-matmul"} : (tensor<3x2xf32>, tensor<1x2x5xf32>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Slice %dx_5, %dx_6, %dx_7, %dx_8 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<1x3x2xf32>

// 1: with unknown sizes, the end is counted from behind: s Y - (s - 1).
func.func @dynamic_pointwise(%dy: tensor<?x2x?xf32>, %w: tensor<2x3x1xf32>) -> tensor<?x3x?xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<?x2x?xf32>, tensor<2x3x1xf32>) -> tensor<?x3x?xf32>
  func.return %dx : tensor<?x3x?xf32>
}
// CHECK-LABEL: func.func @dynamic_pointwise(
// CHECK-NEXT: %dx = onnx.Shape %dy {gradc.strategy = "conv-to-matmul"} : (tensor<?x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 0, gradc.strategy = "conv-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx, %dx_3 {axis = 0, gradc.strategy = "conv-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 3]> : tensor<3xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %w, %dx_5 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x1xf32>, tensor<3xi64>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %dx_7 = onnx.Transpose %dx_6 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_8 = onnx.Concat %dx_2, %dx_3, %dx_4 {axis = 0, gradc.strategy = "conv-to-matmul"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_9 = onnx.Reshape %dy, %dx_8 {gradc.strategy = "conv-to-matmul"} : (tensor<?x2x?xf32>, tensor<3xi64>) -> tensor<?x2x?xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_11 = onnx.Reshape %dx_7, %dx_10 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx_12 = onnx.Unsqueeze %dx_11, %dx_1 {gradc.strategy = "conv-to-matmul"} : (tensor<3x2xf32>, tensor<1xi64>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Shape %dx_9 {gradc.strategy = "conv-to-matmul"} : (tensor<?x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_15 = onnx.Gather %dx_14, %dx_1 {axis = 0, gradc.strategy = "conv-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_16 = onnx.Min %dx_15, %dx_13 {gradc.strategy = "conv-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Slice %dx_12, %dx_1, %dx_16, %dx_1 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3x2xf32>
// CHECK-NEXT: %dx_18 = onnx.MatMul %dx_17, %dx_9 {gradc.strategy = "conv-to-matmul"} : (tensor<?x3x2xf32>, tensor<?x2x?xf32>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_19 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_20 = onnx.Concat %dx_2, %dx_19, %dx_4 {axis = 0, gradc.strategy = "conv-to-matmul"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_21 = onnx.Reshape %dx_18, %dx_20 {gradc.strategy = "conv-to-matmul"} : (tensor<?x3x?xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_22 = onnx.Unsqueeze %dx_21, %dx_19 {gradc.strategy = "conv-to-matmul"} : (tensor<?x3x?xf32>, tensor<1xi64>) -> tensor<?x3x?x1xf32>
// CHECK-NEXT: %dx_23 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 0, 0, 0, 0, 0, 1]> : tensor<8xi64>
// CHECK-NEXT: %dx_24 = onnx.Pad %dx_22, %dx_23 {gradc.strategy = "conv-to-matmul"} : (tensor<?x3x?x1xf32>, tensor<8xi64>) -> tensor<?x3x?x2xf32>
// CHECK-NEXT: %dx_25 = onnx.Mul %dx_4, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_26 = onnx.Concat %dx_2, %dx_19, %dx_25 {axis = 0, gradc.strategy = "conv-to-matmul"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %dx_27 = onnx.Reshape %dx_24, %dx_26 {gradc.strategy = "conv-to-matmul"} : (tensor<?x3x?x2xf32>, tensor<3xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: %dx_28 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<-1> : tensor<1xi64>
// CHECK-NEXT: %dx_29 = onnx.Slice %dx_27, %dx_1, %dx_28, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<?x3x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3x?xf32>
// CHECK-NEXT: func.return %dx_29 : tensor<?x3x?xf32>

// 2: x reads y = x - k: of 0 dy 0, tap 0 has the last four and tap 1 the first four.
func.func @general(%dy: tensor<1x2x3xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x2xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @general(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 1, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3xf32>, tensor<6xi64>) -> tensor<1x2x5xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 1, 2, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_3 = onnx.Reshape %dx_1, %dx_2 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x5xf32>, tensor<4xi64>) -> tensor<1x1x2x5xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %w, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x2xf32>, tensor<3xi64>) -> tensor<1x2x6xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x6xf32>) -> tensor<1x6x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<5> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Slice %dx_3, %dx_7, %dx_8, %dx_9, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<1x1x2x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x1x2x4xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Slice %dx_3, %dx_11, %dx_12, %dx_9, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<1x1x2x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x1x2x4xf32>
// CHECK-NEXT: %dx_14 = onnx.Concat %dx_10, %dx_13 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT: %dx_16 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 4, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_17 = onnx.Reshape %dx_14, %dx_16 {gradc.strategy = "conv-to-matmul"} : (tensor<1x1x4x4xf32>, tensor<3xi64>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_18 = onnx.Reshape %dx_6, %dx_15 : (tensor<1x6x2xf32>, tensor<2xi64>) -> tensor<3x4xf32>
// CHECK-NEXT: %dx_19 = onnx.MatMul %dx_18, %dx_17 {gradc.strategy = "conv-to-matmul"} : (tensor<3x4xf32>, tensor<1x4x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx_19 : tensor<1x3x4xf32>

// 2: even positions are of tap 0, odd ones of tap 1: two products, side by side.
func.func @strided(%dy: tensor<1x2x2xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x2xf32>, tensor<2x3x2xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @strided(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x2xf32>, tensor<3xi64>) -> tensor<1x2x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x6xf32>) -> tensor<1x6x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 2, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<1x6x2xf32>, tensor<3xi64>) -> tensor<3x2x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-matmul"} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<3x1x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_6, %dx_7 : (tensor<3x1x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx_9 = onnx.MatMul %dx_8, %dy {gradc.strategy = "conv-to-matmul"} : (tensor<3x2xf32>, tensor<1x2x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Gather %dx_4, %dx_10 {axis = 1, gradc.strategy = "conv-to-matmul"} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<3x1x2xf32>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_11, %dx_7 : (tensor<3x1x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx_13 = onnx.MatMul %dx_12, %dy {gradc.strategy = "conv-to-matmul"} : (tensor<3x2xf32>, tensor<1x2x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[6, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_15 = onnx.Reshape %dx_9, %dx_14 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_16 = onnx.Reshape %dx_13, %dx_14 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_17 = onnx.Concat %dx_15, %dx_16 {axis = 1, gradc.strategy = "conv-to-matmul"} : (tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<6x2xf32>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 3, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_19 = onnx.Reshape %dx_17, %dx_18 {gradc.strategy = "conv-to-matmul"} : (tensor<6x2xf32>, tensor<3xi64>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx_19 : tensor<1x3x4xf32>

// 2: the last axis, then the first; all taps in one product per group.
func.func @grouped(%dy: tensor<1x4x3x3xf32>, %w: tensor<4x3x2x2xf32>) -> tensor<1x6x4x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 2], pads_begin = [0, 0], pads_end = [0, 0], groups = 2, residue = [0, 0], layout = "NCX"} : (tensor<1x4x3x3xf32>, tensor<4x3x2x2xf32>) -> tensor<1x6x4x5xf32>
  func.return %dx : tensor<1x6x4x5xf32>
}
// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 1, 2, 0, 0, 1, 2]> : tensor<8xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x3x3xf32>, tensor<8xi64>) -> tensor<1x4x5x7xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 2, 5, 7]> : tensor<5xi64>
// CHECK-NEXT: %dx_3 = onnx.Reshape %dx_1, %dx_2 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x5x7xf32>, tensor<5xi64>) -> tensor<1x2x2x5x7xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 2, 12]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %w, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<4x3x2x2xf32>, tensor<3xi64>) -> tensor<2x2x12xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<2x2x12xf32>) -> tensor<2x12x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<7> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Slice %dx_3, %dx_7, %dx_8, %dx_9, %dx_10 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x2x5x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x2x5x5xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<5> : tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Slice %dx_3, %dx_12, %dx_13, %dx_9, %dx_10 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x2x5x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x2x5x5xf32>
// CHECK-NEXT: %dx_15 = onnx.Concat %dx_11, %dx_14 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x2x2x5x5xf32>, tensor<1x2x2x5x5xf32>) -> tensor<1x2x4x5x5xf32>
// CHECK-NEXT: %dx_16 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Slice %dx_15, %dx_10, %dx_13, %dx_16, %dx_10 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x4x5x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x4x4x5xf32>
// CHECK-NEXT: %dx_18 = onnx.Slice %dx_15, %dx_12, %dx_9, %dx_16, %dx_10 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x4x5x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x4x4x5xf32>
// CHECK-NEXT: %dx_19 = onnx.Concat %dx_17, %dx_18 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x2x4x4x5xf32>, tensor<1x2x4x4x5xf32>) -> tensor<1x2x8x4x5xf32>
// CHECK-NEXT: %dx_20 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 3, 8]> : tensor<3xi64>
// CHECK-NEXT: %dx_21 = onnx.Reshape %dx_6, %dx_20 : (tensor<2x12x2xf32>, tensor<3xi64>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %dx_22 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 8, 20]> : tensor<4xi64>
// CHECK-NEXT: %dx_23 = onnx.Reshape %dx_19, %dx_22 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x8x4x5xf32>, tensor<4xi64>) -> tensor<1x2x8x20xf32>
// CHECK-NEXT: %dx_24 = onnx.MatMul %dx_21, %dx_23 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x8xf32>, tensor<1x2x8x20xf32>) -> tensor<1x2x3x20xf32>
// CHECK-NEXT: %dx_25 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 6, 4, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_26 = onnx.Reshape %dx_24, %dx_25 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3x20xf32>, tensor<4xi64>) -> tensor<1x6x4x5xf32>
// CHECK-NEXT: func.return %dx_26 : tensor<1x6x4x5xf32>

// 3: the forward convolution reads y = 2 x - 1 + k.
func.func @transpose(%dy: tensor<1x4x7xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x4xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 2, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<6x2x3xf32>) -> tensor<1x6x4xf32>
  func.return %dx : tensor<1x6x4xf32>
}
// CHECK-LABEL: func.func @transpose(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 1, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x7xf32>, tensor<6xi64>) -> tensor<1x4x9xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 4, 1, 9]> : tensor<4xi64>
// CHECK-NEXT: %dx_3 = onnx.Reshape %dx_1, %dx_2 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x9xf32>, tensor<4xi64>) -> tensor<1x4x1x9xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<7> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Slice %dx_3, %dx_4, %dx_5, %dx_6, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x1x9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x1x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<8> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Slice %dx_3, %dx_9, %dx_10, %dx_6, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x1x9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x1x4xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<9> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Slice %dx_3, %dx_7, %dx_12, %dx_6, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x1x9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x1x4xf32>
// CHECK-NEXT: %dx_14 = onnx.Concat %dx_8, %dx_11, %dx_13 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x3x4xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 3, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_16 = onnx.Reshape %w, %dx_15 : (tensor<6x2x3xf32>, tensor<3xi64>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 6, 4]> : tensor<4xi64>
// CHECK-NEXT: %dx_18 = onnx.Reshape %dx_14, %dx_17 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x3x4xf32>, tensor<4xi64>) -> tensor<1x2x6x4xf32>
// CHECK-NEXT: %dx_19 = onnx.MatMul %dx_16, %dx_18 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x6xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT: %dx_20 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 6, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_21 = onnx.Reshape %dx_19, %dx_20 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3x4xf32>, tensor<3xi64>) -> tensor<1x6x4xf32>
// CHECK-NEXT: func.return %dx_21 : tensor<1x6x4xf32>

// 2: no tap reaches x = 1 mod 4 and 2 mod 4: zeros stand between the two products.
func.func @gap(%dy: tensor<1x2x2xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x8xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [4], dilations = [3], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x2xf32>, tensor<2x3x2xf32>) -> tensor<1x3x8xf32>
  func.return %dx : tensor<1x3x8xf32>
}
// CHECK-LABEL: func.func @gap(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x2xf32>, tensor<3xi64>) -> tensor<1x2x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x6xf32>) -> tensor<1x6x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 2, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-matmul"} : (tensor<1x6x2xf32>, tensor<3xi64>) -> tensor<3x2x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-matmul"} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<3x1x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_6, %dx_7 : (tensor<3x1x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx_9 = onnx.MatMul %dx_8, %dy {gradc.strategy = "conv-to-matmul"} : (tensor<3x2xf32>, tensor<1x2x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Gather %dx_4, %dx_10 {axis = 1, gradc.strategy = "conv-to-matmul"} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<3x1x2xf32>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_11, %dx_7 : (tensor<3x1x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dx_13 = onnx.MatMul %dx_12, %dy {gradc.strategy = "conv-to-matmul"} : (tensor<3x2xf32>, tensor<1x2x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[6, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_15 = onnx.Reshape %dx_9, %dx_14 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_16 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 0, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_17 = onnx.Pad %dx_15, %dx_16 {gradc.strategy = "conv-to-matmul"} : (tensor<6x1xf32>, tensor<4xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %dx_18 = onnx.Reshape %dx_13, %dx_14 {gradc.strategy = "conv-to-matmul"} : (tensor<1x3x2xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_19 = onnx.Concat %dx_17, %dx_18 {axis = 1, gradc.strategy = "conv-to-matmul"} : (tensor<6x3xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %dx_20 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 3, 8]> : tensor<3xi64>
// CHECK-NEXT: %dx_21 = onnx.Reshape %dx_19, %dx_20 {gradc.strategy = "conv-to-matmul"} : (tensor<6x4xf32>, tensor<3xi64>) -> tensor<1x3x8xf32>
// CHECK-NEXT: func.return %dx_21 : tensor<1x3x8xf32>

// 2: 17 taps are gathered, and then stand before the channels.
func.func @many_taps(%dy: tensor<1x2x3xf32>, %w: tensor<2x3x17xf32>) -> tensor<1x3x19xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x17xf32>) -> tensor<1x3x19xf32>
  func.return %dx : tensor<1x3x19xf32>
}
// CHECK-LABEL: func.func @many_taps(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 16, 0, 0, 16]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3xf32>, tensor<6xi64>) -> tensor<1x2x35xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 1, 2, 35]> : tensor<4xi64>
// CHECK-NEXT: %dx_3 = onnx.Reshape %dx_1, %dx_2 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x35xf32>, tensor<4xi64>) -> tensor<1x1x2x35xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 51]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %w, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x17xf32>, tensor<3xi64>) -> tensor<1x2x51xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 1], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x51xf32>) -> tensor<1x51x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<"0x10000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000001E000000000000001F000000000000002000000000000000210000000000000022000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000001E000000000000001F00000000000000200000000000000021000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000001E000000000000001F0000000000000020000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000001E000000000000001F000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000001E000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C0000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B00000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000190000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000020000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000130000000000000014000000000000000100000000000000020000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000130000000000000000000000000000000100000000000000020000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F00000000000000100000000000000011000000000000001200000000000000"> : tensor<17x19xi64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx_3, %dx_7 {axis = 3, gradc.strategy = "conv-to-matmul"} : (tensor<1x1x2x35xf32>, tensor<17x19xi64>) -> tensor<1x1x2x17x19xf32>
// CHECK-NEXT: %dx_9 = onnx.Transpose %dx_8 {perm = [0, 1, 3, 2, 4], gradc.strategy = "conv-to-matmul"} : (tensor<1x1x2x17x19xf32>) -> tensor<1x1x17x2x19xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 34]> : tensor<2xi64>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 34, 19]> : tensor<3xi64>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_9, %dx_11 : (tensor<1x1x17x2x19xf32>, tensor<3xi64>) -> tensor<1x34x19xf32>
// CHECK-NEXT: %dx_13 = onnx.Reshape %dx_6, %dx_10 : (tensor<1x51x2xf32>, tensor<2xi64>) -> tensor<3x34xf32>
// CHECK-NEXT: %dx_14 = onnx.MatMul %dx_13, %dx_12 {gradc.strategy = "conv-to-matmul"} : (tensor<3x34xf32>, tensor<1x34x19xf32>) -> tensor<1x3x19xf32>
// CHECK-NEXT: func.return %dx_14 : tensor<1x3x19xf32>

// Refused: of 36 phases each would be nodes; one ConvTranspose is quicker.
func.func @many_phases(%dy: tensor<1x2x3x3xf32>, %w: tensor<2x3x6x6xf32>) -> tensor<1x3x18x18xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [6, 6], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x3x3xf32>, tensor<2x3x6x6xf32>) -> tensor<1x3x18x18xf32>
  func.return %dx : tensor<1x3x18x18xf32>
}
// CHECK-LABEL: func.func @many_phases(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [6, 6], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x3x3xf32>, tensor<2x3x6x6xf32>) -> tensor<1x3x18x18xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x18x18xf32>

// Refused: the columns of an unknown size.
func.func @dynamic(%dy: tensor<1x2x?xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x?xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x?xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
  func.return %dx : tensor<1x3x?xf32>
}
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x?xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x?xf32>
