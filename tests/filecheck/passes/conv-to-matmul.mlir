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

// 2: x reads y = x - k: tap 0 reads 0, 1, 2, none; tap 1 none, 0, 1, 2. None is position 3, a zero.
func.func @general(%dy: tensor<1x2x3xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x3xf32>, tensor<2x3x2xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @general(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3xf32>, tensor<6xi64>) -> tensor<1x2x4xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[[0, 1, 2, 3], [3, 0, 1, 2]]> : tensor<2x4xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x2x4xf32>, tensor<2x4xi64>) -> tensor<1x2x2x4xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 3, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %w, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x2xf32>, tensor<4xi64>) -> tensor<1x2x3x2xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 1, 3], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3x2xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 4, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_3, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x2x4xf32>, tensor<3xi64>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT: %dx_10 = onnx.Reshape %dx_6, %dx_9 : (tensor<1x3x2x2xf32>, tensor<2xi64>) -> tensor<3x4xf32>
// CHECK-NEXT: %dx_11 = onnx.MatMul %dx_10, %dx_8 {gradc.strategy = "conv-to-matmul"} : (tensor<3x4xf32>, tensor<1x4x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx_11 : tensor<1x3x4xf32>

// 2: y = (x - k) / 2 where that is whole.
func.func @strided(%dy: tensor<1x2x2xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x2xf32>, tensor<2x3x2xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @strided(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x2xf32>, tensor<6xi64>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[[0, 2, 1, 2], [2, 0, 2, 1]]> : tensor<2x4xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3xf32>, tensor<2x4xi64>) -> tensor<1x2x2x4xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 3, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %w, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x2xf32>, tensor<4xi64>) -> tensor<1x2x3x2xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 1, 3], gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3x2xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 4, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_3, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x2x4xf32>, tensor<3xi64>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT: %dx_10 = onnx.Reshape %dx_6, %dx_9 : (tensor<1x3x2x2xf32>, tensor<2xi64>) -> tensor<3x4xf32>
// CHECK-NEXT: %dx_11 = onnx.MatMul %dx_10, %dx_8 {gradc.strategy = "conv-to-matmul"} : (tensor<3x4xf32>, tensor<1x4x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx_11 : tensor<1x3x4xf32>

// 2: all axes, then all taps in one product per group.
func.func @grouped(%dy: tensor<1x4x3x3xf32>, %w: tensor<4x3x2x2xf32>) -> tensor<1x6x4x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 2], pads_begin = [0, 0], pads_end = [0, 0], groups = 2, residue = [0, 0], layout = "NCX"} : (tensor<1x4x3x3xf32>, tensor<4x3x2x2xf32>) -> tensor<1x6x4x5xf32>
  func.return %dx : tensor<1x6x4x5xf32>
}
// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 0, 0, 0, 0, 1, 1]> : tensor<8xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x3x3xf32>, tensor<8xi64>) -> tensor<1x4x4x4xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[[0, 1, 2, 3], [3, 0, 1, 2]]> : tensor<2x4xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x4x4x4xf32>, tensor<2x4xi64>) -> tensor<1x4x2x4x4xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[[0, 1, 2, 3, 3], [3, 3, 0, 1, 2]]> : tensor<2x5xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %dx_3, %dx_4 {axis = 4, gradc.strategy = "conv-to-matmul"} : (tensor<1x4x2x4x4xf32>, tensor<2x5xi64>) -> tensor<1x4x2x4x2x5xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 1, 2, 4, 3, 5], gradc.strategy = "conv-to-matmul"} : (tensor<1x4x2x4x2x5xf32>) -> tensor<1x4x2x2x4x5xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 2, 3, 4]> : tensor<4xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %w, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<4x3x2x2xf32>, tensor<4xi64>) -> tensor<2x2x3x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Transpose %dx_8 {perm = [0, 2, 1, 3], gradc.strategy = "conv-to-matmul"} : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 3, 8]> : tensor<3xi64>
// CHECK-NEXT: %dx_11 = onnx.Reshape %dx_9, %dx_10 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x2x4xf32>, tensor<3xi64>) -> tensor<2x3x8xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 8, 20]> : tensor<4xi64>
// CHECK-NEXT: %dx_13 = onnx.Reshape %dx_6, %dx_12 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x2x2x4x5xf32>, tensor<4xi64>) -> tensor<1x2x8x20xf32>
// CHECK-NEXT: %dx_14 = onnx.MatMul %dx_11, %dx_13 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x8xf32>, tensor<1x2x8x20xf32>) -> tensor<1x2x3x20xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 6, 4, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_16 = onnx.Reshape %dx_14, %dx_15 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3x20xf32>, tensor<4xi64>) -> tensor<1x6x4x5xf32>
// CHECK-NEXT: func.return %dx_16 : tensor<1x6x4x5xf32>

// 2: the forward convolution reads y = 2 x - 1 + k.
func.func @transpose(%dy: tensor<1x4x7xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x4xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 2, layout = "NCX"} : (tensor<1x4x7xf32>, tensor<6x2x3xf32>) -> tensor<1x6x4xf32>
  func.return %dx : tensor<1x6x4xf32>
}
// CHECK-LABEL: func.func @transpose(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x7xf32>, tensor<6xi64>) -> tensor<1x4x8xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[[7, 1, 3, 5], [0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<3x4xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 2, gradc.strategy = "conv-to-matmul"} : (tensor<1x4x8xf32>, tensor<3x4xi64>) -> tensor<1x4x3x4xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[2, 3, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %w, %dx_4 {gradc.strategy = "conv-to-matmul"} : (tensor<6x2x3xf32>, tensor<3xi64>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 2, 6, 4]> : tensor<4xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_3, %dx_6 {gradc.strategy = "conv-to-matmul"} : (tensor<1x4x3x4xf32>, tensor<4xi64>) -> tensor<1x2x6x4xf32>
// CHECK-NEXT: %dx_8 = onnx.MatMul %dx_5, %dx_7 {gradc.strategy = "conv-to-matmul"} : (tensor<2x3x6xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-matmul"} dense<[1, 6, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_10 = onnx.Reshape %dx_8, %dx_9 {gradc.strategy = "conv-to-matmul"} : (tensor<1x2x3x4xf32>, tensor<3xi64>) -> tensor<1x6x4xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<1x6x4xf32>

// Refused: the columns of an unknown size.
func.func @dynamic(%dy: tensor<1x2x?xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x?xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x?xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
  func.return %dx : tensor<1x3x?xf32>
}
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x?xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x?xf32>
