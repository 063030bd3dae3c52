// RUN: gradc-opt %s -p conv-to-phase-convs,simplify | filecheck %s

// X = 2 (3 - 1) + 3 - 1 - 1 + 1 = 6: phase 0 has tap 1, phase 1 taps 2 (y = q) and 0 (y = q + 1).
func.func @rows(%dy: tensor<1x4x3xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x2x6xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, residue = [1], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x2x3xf32>) -> tensor<1x2x6xf32>
  func.return %dx : tensor<1x2x6xf32>
}
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 4, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-phase-convs"} : (tensor<4x2x3xf32>, tensor<3xi64>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x6xf32>) -> tensor<1x6x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[2, 3, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x6x4xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[2, 4, 1]> : tensor<3xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_6, %dx_7 {gradc.strategy = "conv-to-phase-convs"} : (tensor<2x1x4xf32>, tensor<3xi64>) -> tensor<2x4x1xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Unsqueeze %dy, %dx_9 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3xf32>, tensor<1xi64>) -> tensor<1x4x1x3xf32>
// CHECK-NEXT: %dx_11 = onnx.Unsqueeze %dx_8, %dx_9 {gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_12 = onnx.Conv %dx_10, %dx_11 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x1x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[2, 0]> : tensor<2xi64>
// CHECK-NEXT: %dx_14 = onnx.Gather %dx_4, %dx_13 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x2x4xf32>
// CHECK-NEXT: %dx_15 = onnx.Transpose %dx_14 {perm = [0, 2, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<2x2x4xf32>) -> tensor<2x4x2xf32>
// CHECK-NEXT: %dx_16 = onnx.Unsqueeze %dx_15, %dx_9 {gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x2xf32>, tensor<1xi64>) -> tensor<2x4x1x2xf32>
// CHECK-NEXT: %dx_17 = onnx.Conv %dx_10, %dx_16 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 1], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x1x3xf32>, tensor<2x4x1x2xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[6, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_19 = onnx.Reshape %dx_12, %dx_18 : (tensor<1x2x1x3xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_20 = onnx.Reshape %dx_17, %dx_18 : (tensor<1x2x1x3xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_21 = onnx.Concat %dx_19, %dx_20 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<6x2xf32>
// CHECK-NEXT: %dx_22 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_23 = onnx.Reshape %dx_21, %dx_22 {gradc.strategy = "conv-to-phase-convs"} : (tensor<6x2xf32>, tensor<3xi64>) -> tensor<1x2x6xf32>
// CHECK-NEXT: func.return %dx_23 : tensor<1x2x6xf32>

// Channels last: the data is transposed once, each phase back; the phases lie in runs of channels.
func.func @last(%dy: tensor<1x3x3x4xf32>, %w: tensor<4x2x2x2xf32>) -> tensor<1x6x6x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 2], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<1x3x3x4xf32>, tensor<4x2x2x2xf32>) -> tensor<1x6x6x2xf32>
  func.return %dx : tensor<1x6x6x2xf32>
}
// CHECK-LABEL: func.func @last(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 4, 8]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-phase-convs"} : (tensor<4x2x2x2xf32>, tensor<3xi64>) -> tensor<1x4x8xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x8xf32>) -> tensor<1x8x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[2, 4, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x8x4xf32>, tensor<3xi64>) -> tensor<2x4x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[2, 4, 1, 1]> : tensor<4xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_6, %dx_7 : (tensor<2x1x4xf32>, tensor<4xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_9 = onnx.Transpose %dy {perm = [0, 3, 1, 2], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x4xf32>) -> tensor<1x4x3x3xf32>
// CHECK-NEXT: %dx_10 = onnx.Conv %dx_9, %dx_8 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_11 = onnx.Transpose %dx_10 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Gather %dx_4, %dx_12 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
// CHECK-NEXT: %dx_14 = onnx.Reshape %dx_13, %dx_7 : (tensor<2x1x4xf32>, tensor<4xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_15 = onnx.Conv %dx_9, %dx_14 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_16 = onnx.Transpose %dx_15 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_18 = onnx.Gather %dx_4, %dx_17 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
// CHECK-NEXT: %dx_19 = onnx.Reshape %dx_18, %dx_7 : (tensor<2x1x4xf32>, tensor<4xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_20 = onnx.Conv %dx_9, %dx_19 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_21 = onnx.Transpose %dx_20 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_22 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dx_23 = onnx.Gather %dx_4, %dx_22 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
// CHECK-NEXT: %dx_24 = onnx.Reshape %dx_23, %dx_7 : (tensor<2x1x4xf32>, tensor<4xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_25 = onnx.Conv %dx_9, %dx_24 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_26 = onnx.Transpose %dx_25 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_27 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 9, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_28 = onnx.Reshape %dx_11, %dx_27 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_29 = onnx.Reshape %dx_16, %dx_27 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_30 = onnx.Reshape %dx_21, %dx_27 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_31 = onnx.Reshape %dx_26, %dx_27 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_32 = onnx.Concat %dx_28, %dx_29, %dx_30, %dx_31 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<1x9x2xf32>, tensor<1x9x2xf32>, tensor<1x9x2xf32>, tensor<1x9x2xf32>) -> tensor<1x36x2xf32>
// CHECK-NEXT: %dx_33 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[[0, 9, 1, 10, 2, 11], [18, 27, 19, 28, 20, 29], [3, 12, 4, 13, 5, 14], [21, 30, 22, 31, 23, 32], [6, 15, 7, 16, 8, 17], [24, 33, 25, 34, 26, 35]]> : tensor<6x6xi64>
// CHECK-NEXT: %dx_34 = onnx.Gather %dx_32, %dx_33 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<1x36x2xf32>, tensor<6x6xi64>) -> tensor<1x6x6x2xf32>
// CHECK-NEXT: func.return %dx_34 : tensor<1x6x6x2xf32>

// Kernel 1, stride 3: tap 0 reaches phase 0 only, zeros stand behind it; X = 3 (3 - 1) + 1 + 1 = 8.
func.func @zeros(%dy: tensor<1x4x3xf32>, %w: tensor<4x2x1xf32>) -> tensor<1x2x8xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [3], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [1], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x2x1xf32>) -> tensor<1x2x8xf32>
  func.return %dx : tensor<1x2x8xf32>
}
// CHECK-LABEL: func.func @zeros(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 4, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-phase-convs"} : (tensor<4x2x1xf32>, tensor<3xi64>) -> tensor<1x4x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x2xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[2, 4, 1]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 : (tensor<1x2x4xf32>, tensor<3xi64>) -> tensor<2x4x1xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Unsqueeze %dy, %dx_5 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3xf32>, tensor<1xi64>) -> tensor<1x4x1x3xf32>
// CHECK-NEXT: %dx_7 = onnx.Unsqueeze %dx_4, %dx_5 {gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_8 = onnx.Conv %dx_6, %dx_7 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x1x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[6, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_10 = onnx.Reshape %dx_8, %dx_9 : (tensor<1x2x1x3xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[0, 0, 0, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_12 = onnx.Pad %dx_10, %dx_11 {gradc.strategy = "conv-to-phase-convs"} : (tensor<6x1xf32>, tensor<4xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 2, 9]> : tensor<3xi64>
// CHECK-NEXT: %dx_14 = onnx.Reshape %dx_12, %dx_13 {gradc.strategy = "conv-to-phase-convs"} : (tensor<6x3xf32>, tensor<3xi64>) -> tensor<1x2x9xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_16 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<8> : tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Slice %dx_14, %dx_15, %dx_16, %dx_5 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x8xf32>
// CHECK-NEXT: func.return %dx_17 : tensor<1x2x8xf32>

// Refused: of 36 phases each would be nodes; one ConvTranspose is quicker.
func.func @many_phases(%dy: tensor<1x2x3x3xf32>, %w: tensor<2x3x6x6xf32>) -> tensor<1x3x18x18xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [6, 6], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x3x3xf32>, tensor<2x3x6x6xf32>) -> tensor<1x3x18x18xf32>
  func.return %dx : tensor<1x3x18x18xf32>
}
// CHECK-LABEL: func.func @many_phases(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [6, 6], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x2x3x3xf32>, tensor<2x3x6x6xf32>) -> tensor<1x3x18x18xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x18x18xf32>

// Channels last, of which there are 16: an AveragePool of one pixel reads the Transpose, both Convs read the AveragePool.
func.func @blocks(%dy: tensor<1x4x16xf32>) -> tensor<1x8x16xf32> {
  %w = onnx.Constant dense<0.5> : tensor<16x1x4xf32>
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 16, residue = [0], layout = "NXC"} : (tensor<1x4x16xf32>, tensor<16x1x4xf32>) -> tensor<1x8x16xf32>
  func.return %dx : tensor<1x8x16xf32>
}
// CHECK-LABEL: func.func @blocks(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Unsqueeze %dy, %dx {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x16xf32>, tensor<1xi64>) -> tensor<1x1x4x16xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<5.000000e-01> : tensor<16x1x1x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Transpose %dx_1 {perm = [0, 3, 1, 2], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x1x4x16xf32>) -> tensor<1x16x1x4xf32>
// CHECK-NEXT: %dx_4 = onnx.AveragePool %dx_3 {kernel_shape = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x16x1x4xf32>) -> tensor<1x16x1x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Conv %dx_4, %dx_2 {dilations = [1, 1], group = 16, pads = [0, 1, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x16x1x4xf32>, tensor<16x1x1x2xf32>) -> tensor<1x16x1x4xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x16x1x4xf32>) -> tensor<1x1x4x16xf32>
// CHECK-NEXT: %dx_7 = onnx.Squeeze %dx_6, %dx {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x1x4x16xf32>, tensor<1xi64>) -> tensor<1x4x16xf32>
// CHECK-NEXT: %dx_8 = onnx.Conv %dx_4, %dx_2 {dilations = [1, 1], group = 16, pads = [0, 0, 0, 1], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x16x1x4xf32>, tensor<16x1x1x2xf32>) -> tensor<1x16x1x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Transpose %dx_8 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x16x1x4xf32>) -> tensor<1x1x4x16xf32>
// CHECK-NEXT: %dx_10 = onnx.Squeeze %dx_9, %dx {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x1x4x16xf32>, tensor<1xi64>) -> tensor<1x4x16xf32>
// CHECK-NEXT: %dx_11 = onnx.Concat %dx_7, %dx_10 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x8x16xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[0, 4, 1, 5, 2, 6, 3, 7]> : tensor<8xi64>
// CHECK-NEXT: %dx_13 = onnx.Gather %dx_11, %dx_12 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<1x8x16xf32>, tensor<8xi64>) -> tensor<1x8x16xf32>
// CHECK-NEXT: func.return %dx_13 : tensor<1x8x16xf32>
