// RUN: gradc-opt %s -p conv-to-conv,simplify | filecheck %s

// 1: a forward convolution, with the weights as they stand. (9 + 1 - 5) div 2 + 1 = 3.
func.func @transpose(%dy: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x3xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [2], pads_begin = [1], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  func.return %dx : tensor<1x6x3xf32>
}
// CHECK-LABEL: func.func @transpose(
// CHECK-NEXT: %dx = onnx.Conv %dy, %w {dilations = [2], group = 2, pads = [1, 0], strides = [2], gradc.strategy = "conv-to-conv"} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x6x3xf32>

// 2: channels swapped, kernel reversed, pads Ke - 1 - p = (2 - 1, 1 - 0, 2 - 0, 1 - 0).
func.func @flipped(%dy: tensor<1x4x5x5xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<1x3x6x6xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x4x5x5xf32>, tensor<4x3x3x2xf32>) -> tensor<1x3x6x6xf32>
  func.return %dx : tensor<1x3x6x6xf32>
}
// CHECK-LABEL: func.func @flipped(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[1, 4, 18]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-conv"} : (tensor<4x3x3x2xf32>, tensor<3xi64>) -> tensor<1x4x18xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<1x4x18xf32>) -> tensor<1x18x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[3, 6, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-conv"} : (tensor<1x18x4xf32>, tensor<3xi64>) -> tensor<3x6x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[5, 4, 3, 2, 1, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-conv"} : (tensor<3x6x4xf32>, tensor<6xi64>) -> tensor<3x6x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Transpose %dx_6 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<3x6x4xf32>) -> tensor<3x4x6xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[3, 4, 3, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_9 = onnx.Reshape %dx_7, %dx_8 {gradc.strategy = "conv-to-conv"} : (tensor<3x4x6xf32>, tensor<4xi64>) -> tensor<3x4x3x2xf32>
// CHECK-NEXT: %dx_10 = onnx.Conv %dy, %dx_9 {dilations = [1, 1], group = 1, pads = [1, 1, 2, 1], strides = [1, 1], gradc.strategy = "conv-to-conv"} : (tensor<1x4x5x5xf32>, tensor<3x4x3x2xf32>) -> tensor<1x3x6x6xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<1x3x6x6xf32>

// The swap is within each group: (2, 2, 3, 2) becomes (2, 3, 2, 2).
func.func @grouped(%dy: tensor<1x4x5xf32>, %w: tensor<4x3x2xf32>) -> tensor<1x6x6xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, residue = [0], layout = "NCX"} : (tensor<1x4x5xf32>, tensor<4x3x2xf32>) -> tensor<1x6x6xf32>
  func.return %dx : tensor<1x6x6xf32>
}
// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[2, 2, 6]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-conv"} : (tensor<4x3x2xf32>, tensor<3xi64>) -> tensor<2x2x6xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<2x2x6xf32>) -> tensor<2x6x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[6, 2, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-conv"} : (tensor<2x6x2xf32>, tensor<3xi64>) -> tensor<6x2x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[1, 0]> : tensor<2xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-conv"} : (tensor<6x2x2xf32>, tensor<2xi64>) -> tensor<6x2x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Transpose %dx_6 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<6x2x2xf32>) -> tensor<6x2x2xf32>
// CHECK-NEXT: %dx_8 = onnx.Conv %dy, %dx_7 {dilations = [1], group = 2, pads = [1, 1], strides = [1], gradc.strategy = "conv-to-conv"} : (tensor<1x4x5xf32>, tensor<6x2x2xf32>) -> tensor<1x6x6xf32>
// CHECK-NEXT: func.return %dx_8 : tensor<1x6x6xf32>

// Ke = 5.
func.func @dilated(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x9xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [2], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x9xf32>
  func.return %dx : tensor<1x3x9xf32>
}
// CHECK-LABEL: func.func @dilated(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[1, 2, 9]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-conv"} : (tensor<2x3x3xf32>, tensor<3xi64>) -> tensor<1x2x9xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<1x2x9xf32>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[3, 3, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-conv"} : (tensor<1x9x2xf32>, tensor<3xi64>) -> tensor<3x3x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[2, 1, 0]> : tensor<3xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-conv"} : (tensor<3x3x2xf32>, tensor<3xi64>) -> tensor<3x3x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Transpose %dx_6 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<3x3x2xf32>) -> tensor<3x2x3xf32>
// CHECK-NEXT: %dx_8 = onnx.Conv %dy, %dx_7 {dilations = [2], group = 1, pads = [4, 4], strides = [1], gradc.strategy = "conv-to-conv"} : (tensor<1x2x5xf32>, tensor<3x2x3xf32>) -> tensor<1x3x9xf32>
// CHECK-NEXT: func.return %dx_8 : tensor<1x3x9xf32>

// One tap needs no reversal.
func.func @pointwise(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x1xf32>) -> tensor<1x3x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x1xf32>) -> tensor<1x3x5xf32>
  func.return %dx : tensor<1x3x5xf32>
}
// CHECK-LABEL: func.func @pointwise(
// CHECK-NEXT: %dx = onnx.Transpose %w {perm = [1, 0, 2], gradc.strategy = "conv-to-conv"} : (tensor<2x3x1xf32>) -> tensor<3x2x1xf32>
// CHECK-NEXT: %dx_1 = onnx.Conv %dy, %dx {dilations = [1], group = 1, pads = [0, 0], strides = [1], gradc.strategy = "conv-to-conv"} : (tensor<1x2x5xf32>, tensor<3x2x1xf32>) -> tensor<1x3x5xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x3x5xf32>

// Constant weights are flipped at compile time: [3, 2, 1].
func.func @constant(%dy: tensor<1x1x5xf32>) -> tensor<1x1x7xf32> {
  %w = onnx.Constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x1x5xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
  func.return %dx : tensor<1x1x7xf32>
}
// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %dx = onnx.Constant dense<[[[3.000000e+00, 2.000000e+00, 1.000000e+00]]]> : tensor<1x1x3xf32>
// CHECK-NEXT: %dx_1 = onnx.Conv %dy, %dx {dilations = [1], group = 1, pads = [2, 2], strides = [1], gradc.strategy = "conv-to-conv"} : (tensor<1x1x5xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x1x7xf32>

// Sizes may be unknown; names survive.
func.func @dynamic(%dy: tensor<?x2x?xf32, ["N", "", "Y"]>, %w: tensor<2x3x3xf32>) -> tensor<?x3x?xf32, ["N", "", "Y"]> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, residue = [0], layout = "NCX"} : (tensor<?x2x?xf32, ["N", "", "Y"]>, tensor<2x3x3xf32>) -> tensor<?x3x?xf32, ["N", "", "Y"]>
  func.return %dx : tensor<?x3x?xf32, ["N", "", "Y"]>
}
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[1, 2, 9]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-conv"} : (tensor<2x3x3xf32>, tensor<3xi64>) -> tensor<1x2x9xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<1x2x9xf32>) -> tensor<1x9x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[3, 3, 2]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-conv"} : (tensor<1x9x2xf32>, tensor<3xi64>) -> tensor<3x3x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-conv"} dense<[2, 1, 0]> : tensor<3xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-conv"} : (tensor<3x3x2xf32>, tensor<3xi64>) -> tensor<3x3x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Transpose %dx_6 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<3x3x2xf32>) -> tensor<3x2x3xf32>
// CHECK-NEXT: %dx_8 = onnx.Conv %dy, %dx_7 {dilations = [1], group = 1, pads = [1, 1], strides = [1], gradc.strategy = "conv-to-conv"} : (tensor<?x2x?xf32, ["N", "", "Y"]>, tensor<3x2x3xf32>) -> tensor<?x3x?xf32, ["N", "", "Y"]>
// CHECK-NEXT: func.return %dx_8 : tensor<?x3x?xf32, ["N", "", "Y"]>

// Refused, so left alone: a stride.
func.func @strided(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x11xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x11xf32>
  func.return %dx : tensor<1x3x11xf32>
}
// CHECK-LABEL: func.func @strided(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x11xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x11xf32>

// Refused: pads as large as the kernel.
func.func @wide_pads(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x2xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [2], pads_end = [2], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x2xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @wide_pads(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [2], pads_end = [2], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x2xf32>

// A layout that the strategy does not write stands between two Transposes.
func.func @channels_last(%dy: tensor<1x5x2xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x5x3xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x2xf32>, tensor<3x2x3xf32>) -> tensor<1x5x3xf32>
  func.return %dx : tensor<1x5x3xf32>
}
// CHECK-LABEL: func.func @channels_last(
// CHECK-NEXT: %dx = onnx.Transpose %dy {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<1x5x2xf32>) -> tensor<1x2x5xf32>
// CHECK-NEXT: %dx_1 = onnx.Conv %dx, %w {dilations = [1], group = 1, pads = [1, 1], strides = [1], gradc.strategy = "conv-to-conv"} : (tensor<1x2x5xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-conv"} : (tensor<1x3x5xf32>) -> tensor<1x5x3xf32>
// CHECK-NEXT: func.return %dx_2 : tensor<1x5x3xf32>
