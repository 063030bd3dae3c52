// RUN: gradc-opt %s -p conv-nxc-to-row-sums,simplify | filecheck %s

// Three rows of taps: windows of three columns, the products of two of them moved by a row.
func.func @planes(%dy: tensor<?x4x5x2xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<?x4x5x3xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<?x4x5x2xf32>, tensor<2x3x3x3xf32>) -> tensor<?x4x5x3xf32>
  func.return %dx : tensor<?x4x5x3xf32>
}
// CHECK-LABEL: func.func @planes(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 0, 1, 0, 0, 0, 1, 0]> : tensor<8xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x2xf32>, tensor<8xi64>) -> tensor<?x4x7x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[6, 9]> : tensor<2xi64>
// CHECK-NEXT: %dx_3 = onnx.Reshape %w, %dx_2 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<2x3x3x3xf32>, tensor<2xi64>) -> tensor<6x9xf32>
// CHECK-NEXT: %dx_4 = onnx.Transpose %dx_3 {perm = [1, 0], gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<6x9xf32>) -> tensor<9x6xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[18, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_4, %dx_5 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<9x6xf32>, tensor<2xi64>) -> tensor<18x3xf32>
// CHECK-NEXT: %dx_7 = onnx.Shape %dx_1 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x7x2xf32>) -> tensor<4xi64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Gather %dx_7, %dx_8 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[[2, 1, 0], [3, 2, 1], [4, 3, 2], [5, 4, 3], [6, 5, 4]]> : tensor<5x3xi64>
// CHECK-NEXT: %dx_12 = onnx.Gather %dx_1, %dx_11 {axis = 2, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x7x2xf32>, tensor<5x3xi64>) -> tensor<?x4x5x3x2xf32>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<5> : tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<6> : tensor<1xi64>
// CHECK-NEXT: %dx_15 = onnx.Concat %dx_9, %dx_10, %dx_13, %dx_14 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT: %dx_16 = onnx.Reshape %dx_12, %dx_15 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x3x2xf32>, tensor<4xi64>) -> tensor<?x4x5x6xf32>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi64>
// CHECK-NEXT: %dx_18 = onnx.Gather %dx_6, %dx_17 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<18x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %dx_19 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_20 = onnx.Unsqueeze %dx_18, %dx_19 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<6x3xf32>, tensor<2xi64>) -> tensor<1x1x6x3xf32>
// CHECK-NEXT: %dx_21 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_22 = onnx.Shape %dx_16 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x6xf32>) -> tensor<4xi64>
// CHECK-NEXT: %dx_23 = onnx.Gather %dx_22, %dx_8 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_24 = onnx.Min %dx_23, %dx_21 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_25 = onnx.Slice %dx_20, %dx_8, %dx_24, %dx_8 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x1x6x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x1x6x3xf32>
// CHECK-NEXT: %dx_26 = onnx.MatMul %dx_16, %dx_25 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x6xf32>, tensor<?x1x6x3xf32>) -> tensor<?x4x5x3xf32>
// CHECK-NEXT: %dx_27 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, -1, 0, 0, 0, 1, 0, 0]> : tensor<8xi64>
// CHECK-NEXT: %dx_28 = onnx.Pad %dx_26, %dx_27 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x3xf32>, tensor<8xi64>) -> tensor<?x4x5x3xf32>
// CHECK-NEXT: %dx_29 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[6, 7, 8, 9, 10, 11]> : tensor<6xi64>
// CHECK-NEXT: %dx_30 = onnx.Gather %dx_6, %dx_29 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<18x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %dx_31 = onnx.Unsqueeze %dx_30, %dx_19 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<6x3xf32>, tensor<2xi64>) -> tensor<1x1x6x3xf32>
// CHECK-NEXT: %dx_32 = onnx.Slice %dx_31, %dx_8, %dx_24, %dx_8 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x1x6x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x1x6x3xf32>
// CHECK-NEXT: %dx_33 = onnx.MatMul %dx_16, %dx_32 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x6xf32>, tensor<?x1x6x3xf32>) -> tensor<?x4x5x3xf32>
// CHECK-NEXT: %dx_34 = onnx.Add %dx_28, %dx_33 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x3xf32>, tensor<?x4x5x3xf32>) -> tensor<?x4x5x3xf32>
// CHECK-NEXT: %dx_35 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[12, 13, 14, 15, 16, 17]> : tensor<6xi64>
// CHECK-NEXT: %dx_36 = onnx.Gather %dx_6, %dx_35 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<18x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %dx_37 = onnx.Unsqueeze %dx_36, %dx_19 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<6x3xf32>, tensor<2xi64>) -> tensor<1x1x6x3xf32>
// CHECK-NEXT: %dx_38 = onnx.Slice %dx_37, %dx_8, %dx_24, %dx_8 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x1x6x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x1x6x3xf32>
// CHECK-NEXT: %dx_39 = onnx.MatMul %dx_16, %dx_38 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x6xf32>, tensor<?x1x6x3xf32>) -> tensor<?x4x5x3xf32>
// CHECK-NEXT: %dx_40 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 1, 0, 0, 0, -1, 0, 0]> : tensor<8xi64>
// CHECK-NEXT: %dx_41 = onnx.Pad %dx_39, %dx_40 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x3xf32>, tensor<8xi64>) -> tensor<?x4x5x3xf32>
// CHECK-NEXT: %dx_42 = onnx.Add %dx_34, %dx_41 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<?x4x5x3xf32>, tensor<?x4x5x3xf32>) -> tensor<?x4x5x3xf32>
// CHECK-NEXT: func.return %dx_42 : tensor<?x4x5x3xf32>

// Two phases of one tap and two, on the data as it stands.
func.func @phases(%dy: tensor<1x3x4xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x6x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, residue = [1], layout = "NXC"} : (tensor<1x3x4xf32>, tensor<4x2x3xf32>) -> tensor<1x6x2xf32>
  func.return %dx : tensor<1x6x2xf32>
}
// CHECK-LABEL: func.func @phases(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[8, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<4x2x3xf32>, tensor<2xi64>) -> tensor<8x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [1, 0], gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<8x3xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[12, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<3x8xf32>, tensor<2xi64>) -> tensor<12x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[4, 5, 6, 7]> : tensor<4xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<12x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
// CHECK-NEXT: %dx_7 = onnx.MatMul %dy, %dx_6 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x3x4xf32>, tensor<4x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_9 = onnx.Gather %dx_4, %dx_8 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<12x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
// CHECK-NEXT: %dx_10 = onnx.MatMul %dy, %dx_9 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x3x4xf32>, tensor<4x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, -1, 0, 0, 1, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_12 = onnx.Pad %dx_10, %dx_11 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x3x2xf32>, tensor<6xi64>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[8, 9, 10, 11]> : tensor<4xi64>
// CHECK-NEXT: %dx_14 = onnx.Gather %dx_4, %dx_13 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<12x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
// CHECK-NEXT: %dx_15 = onnx.MatMul %dy, %dx_14 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x3x4xf32>, tensor<4x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_16 = onnx.Add %dx_12, %dx_15 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x3x2xf32>, tensor<1x3x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_17 = onnx.Concat %dx_7, %dx_16 {axis = 1, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x3x2xf32>, tensor<1x3x2xf32>) -> tensor<1x6x2xf32>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 3, 1, 4, 2, 5]> : tensor<6xi64>
// CHECK-NEXT: %dx_19 = onnx.Gather %dx_17, %dx_18 {axis = 1, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x6x2xf32>, tensor<6xi64>) -> tensor<1x6x2xf32>
// CHECK-NEXT: func.return %dx_19 : tensor<1x6x2xf32>

// A forward convolution by 2: taps 0 and 2 read the odd rows, tap 1 the even ones.
func.func @forward(%dy: tensor<1x9x4xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x5x6xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x9x4xf32>, tensor<6x4x3xf32>) -> tensor<1x5x6xf32>
  func.return %dx : tensor<1x5x6xf32>
}
// CHECK-LABEL: func.func @forward(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[6, 12]> : tensor<2xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<6x4x3xf32>, tensor<2xi64>) -> tensor<6x12xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [1, 0], gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<6x12xf32>) -> tensor<12x6xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<8> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Slice %dy, %dx_3, %dx_4, %dx_3, %dx_5 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x9x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 3, 6, 9]> : tensor<4xi64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx_2, %dx_7 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<12x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
// CHECK-NEXT: %dx_9 = onnx.MatMul %dx_6, %dx_8 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x4x4xf32>, tensor<4x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 1, 0, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_11 = onnx.Pad %dx_9, %dx_10 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x4x6xf32>, tensor<6xi64>) -> tensor<1x5x6xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<9> : tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Slice %dy, %dx_12, %dx_13, %dx_3, %dx_5 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x9x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x5x4xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[1, 4, 7, 10]> : tensor<4xi64>
// CHECK-NEXT: %dx_16 = onnx.Gather %dx_2, %dx_15 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<12x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
// CHECK-NEXT: %dx_17 = onnx.MatMul %dx_14, %dx_16 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x5x4xf32>, tensor<4x6xf32>) -> tensor<1x5x6xf32>
// CHECK-NEXT: %dx_18 = onnx.Add %dx_11, %dx_17 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x5x6xf32>, tensor<1x5x6xf32>) -> tensor<1x5x6xf32>
// CHECK-NEXT: %dx_19 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[2, 5, 8, 11]> : tensor<4xi64>
// CHECK-NEXT: %dx_20 = onnx.Gather %dx_2, %dx_19 {axis = 0, gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<12x6xf32>, tensor<4xi64>) -> tensor<4x6xf32>
// CHECK-NEXT: %dx_21 = onnx.MatMul %dx_6, %dx_20 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x4x4xf32>, tensor<4x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_22 = onnx.Constant {gradc.strategy = "conv-nxc-to-row-sums"} dense<[0, 0, 0, 0, 1, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_23 = onnx.Pad %dx_21, %dx_22 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x4x6xf32>, tensor<6xi64>) -> tensor<1x5x6xf32>
// CHECK-NEXT: %dx_24 = onnx.Add %dx_18, %dx_23 {gradc.strategy = "conv-nxc-to-row-sums"} : (tensor<1x5x6xf32>, tensor<1x5x6xf32>) -> tensor<1x5x6xf32>
// CHECK-NEXT: func.return %dx_24 : tensor<1x5x6xf32>
