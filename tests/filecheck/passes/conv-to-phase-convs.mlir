// RUN: gradc-opt %s -p conv-to-phase-convs,simplify | filecheck %s

// X = 2 (3 - 1) + 3 - 1 - 1 + 1 = 6: phase 0 has tap 1, phase 1 taps 2 (y = q) and 0 (y = q + 1).
func.func @rows(%dy: tensor<1x4x3xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x2x6xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, residue = [1], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x2x3xf32>) -> tensor<1x2x6xf32>
  func.return %dx : tensor<1x2x6xf32>
}
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [1, 0, 2], gradc.strategy = "conv-to-phase-convs"} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 2, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x3xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Unsqueeze %dy, %dx_3 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3xf32>, tensor<1xi64>) -> tensor<1x4x1x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Unsqueeze %dx_2, %dx_3 {gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_6 = onnx.Conv %dx_4, %dx_5 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x1x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[2, 0]> : tensor<2xi64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx, %dx_7 {axis = 2, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x3xf32>, tensor<2xi64>) -> tensor<2x4x2xf32>
// CHECK-NEXT: %dx_9 = onnx.Unsqueeze %dx_8, %dx_3 {gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x2xf32>, tensor<1xi64>) -> tensor<2x4x1x2xf32>
// CHECK-NEXT: %dx_10 = onnx.Conv %dx_4, %dx_9 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 1], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x1x3xf32>, tensor<2x4x1x2xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[6, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_6, %dx_11 : (tensor<1x2x1x3xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_13 = onnx.Reshape %dx_10, %dx_11 : (tensor<1x2x1x3xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_14 = onnx.Concat %dx_12, %dx_13 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<6x2xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_16 = onnx.Reshape %dx_14, %dx_15 {gradc.strategy = "conv-to-phase-convs"} : (tensor<6x2xf32>, tensor<3xi64>) -> tensor<1x2x6xf32>
// CHECK-NEXT: func.return %dx_16 : tensor<1x2x6xf32>

// Channels last: the data is transposed once, each phase back; the phases lie in runs of channels.
func.func @last(%dy: tensor<1x3x3x4xf32>, %w: tensor<4x2x2x2xf32>) -> tensor<1x6x6x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 2], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<1x3x3x4xf32>, tensor<4x2x2x2xf32>) -> tensor<1x6x6x2xf32>
  func.return %dx : tensor<1x6x6x2xf32>
}
// CHECK-LABEL: func.func @last(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [1, 0, 2, 3], gradc.strategy = "conv-to-phase-convs"} : (tensor<4x2x2x2xf32>) -> tensor<2x4x2x2xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 2, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x2x2xf32>, tensor<1xi64>) -> tensor<2x4x1x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_2, %dx_1 {axis = 3, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1x2xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_4 = onnx.Transpose %dy {perm = [0, 3, 1, 2], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x4xf32>) -> tensor<1x4x3x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Conv %dx_4, %dx_3 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx_2, %dx_7 {axis = 3, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1x2xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_9 = onnx.Conv %dx_4, %dx_8 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_10 = onnx.Transpose %dx_9 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_11 = onnx.Gather %dx, %dx_7 {axis = 2, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x2x2xf32>, tensor<1xi64>) -> tensor<2x4x1x2xf32>
// CHECK-NEXT: %dx_12 = onnx.Gather %dx_11, %dx_1 {axis = 3, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1x2xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_13 = onnx.Conv %dx_4, %dx_12 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_14 = onnx.Transpose %dx_13 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_15 = onnx.Gather %dx_11, %dx_7 {axis = 3, gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1x2xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_16 = onnx.Conv %dx_4, %dx_15 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: %dx_17 = onnx.Transpose %dx_16 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x3x3xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 9, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_19 = onnx.Reshape %dx_6, %dx_18 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_20 = onnx.Reshape %dx_10, %dx_18 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_21 = onnx.Reshape %dx_14, %dx_18 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_22 = onnx.Reshape %dx_17, %dx_18 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x3x3x2xf32>, tensor<3xi64>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_23 = onnx.Concat %dx_19, %dx_20, %dx_21, %dx_22 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<1x9x2xf32>, tensor<1x9x2xf32>, tensor<1x9x2xf32>, tensor<1x9x2xf32>) -> tensor<1x36x2xf32>
// CHECK-NEXT: %dx_24 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[[0, 9, 1, 10, 2, 11], [18, 27, 19, 28, 20, 29], [3, 12, 4, 13, 5, 14], [21, 30, 22, 31, 23, 32], [6, 15, 7, 16, 8, 17], [24, 33, 25, 34, 26, 35]]> : tensor<6x6xi64>
// CHECK-NEXT: %dx_25 = onnx.Gather %dx_23, %dx_24 {axis = 1, gradc.strategy = "conv-to-phase-convs"} : (tensor<1x36x2xf32>, tensor<6x6xi64>) -> tensor<1x6x6x2xf32>
// CHECK-NEXT: func.return %dx_25 : tensor<1x6x6x2xf32>

// Kernel 1, stride 3: tap 0 reaches phase 0 only, zeros stand behind it; X = 3 (3 - 1) + 1 + 1 = 8.
func.func @zeros(%dy: tensor<1x4x3xf32>, %w: tensor<4x2x1xf32>) -> tensor<1x2x8xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [3], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [1], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x2x1xf32>) -> tensor<1x2x8xf32>
  func.return %dx : tensor<1x2x8xf32>
}
// CHECK-LABEL: func.func @zeros(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [1, 0, 2], gradc.strategy = "conv-to-phase-convs"} : (tensor<4x2x1xf32>) -> tensor<2x4x1xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Unsqueeze %dy, %dx_1 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x3xf32>, tensor<1xi64>) -> tensor<1x4x1x3xf32>
// CHECK-NEXT: %dx_3 = onnx.Unsqueeze %dx, %dx_1 {gradc.strategy = "conv-to-phase-convs"} : (tensor<2x4x1xf32>, tensor<1xi64>) -> tensor<2x4x1x1xf32>
// CHECK-NEXT: %dx_4 = onnx.Conv %dx_2, %dx_3 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-phase-convs"} : (tensor<1x4x1x3xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[6, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_4, %dx_5 : (tensor<1x2x1x3xf32>, tensor<2xi64>) -> tensor<6x1xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[0, 0, 0, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_8 = onnx.Pad %dx_6, %dx_7 {gradc.strategy = "conv-to-phase-convs"} : (tensor<6x1xf32>, tensor<4xi64>) -> tensor<6x3xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<[1, 2, 9]> : tensor<3xi64>
// CHECK-NEXT: %dx_10 = onnx.Reshape %dx_8, %dx_9 {gradc.strategy = "conv-to-phase-convs"} : (tensor<6x3xf32>, tensor<3xi64>) -> tensor<1x2x9xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-phase-convs"} dense<8> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Slice %dx_10, %dx_11, %dx_12, %dx_1 {gradc.strategy = "conv-to-phase-convs"} : (tensor<1x2x9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x8xf32>
// CHECK-NEXT: func.return %dx_13 : tensor<1x2x8xf32>
