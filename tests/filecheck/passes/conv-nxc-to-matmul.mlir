// RUN: gradc-opt %s -p conv-nxc-to-matmul,simplify | filecheck %s

// Kernel 1: the data as it stands.
func.func @pointwise(%dy: tensor<?x3x3x4xf32>, %w: tensor<4x2x1x1xf32>) -> tensor<?x3x3x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<?x3x3x4xf32>, tensor<4x2x1x1xf32>) -> tensor<?x3x3x2xf32>
  func.return %dx : tensor<?x3x3x2xf32>
}
// CHECK-LABEL: func.func @pointwise(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[4, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<4x2x1x1xf32>, tensor<2xi64>) -> tensor<4x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_3 = onnx.Unsqueeze %dx_1, %dx_2 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<1x1x4x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Shape %dy {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<?x3x3x4xf32>) -> tensor<4xi64>
// CHECK-NEXT: %dx_7 = onnx.Gather %dx_6, %dx_4 {axis = 0, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Min %dx_7, %dx_5 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Slice %dx_3, %dx_4, %dx_8, %dx_4 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x1x4x2xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x1x4x2xf32>
// CHECK-NEXT: %dx_10 = onnx.MatMul %dy, %dx_9 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<?x3x3x4xf32>, tensor<?x1x4x2xf32>) -> tensor<?x3x3x2xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<?x3x3x2xf32>

// Two phases of two taps and one tap, in runs of 2 channels.
func.func @phases(%dy: tensor<1x3x4xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x6x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, residue = [1], layout = "NXC"} : (tensor<1x3x4xf32>, tensor<4x2x3xf32>) -> tensor<1x6x2xf32>
  func.return %dx : tensor<1x6x2xf32>
}
// CHECK-LABEL: func.func @phases(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[0, 0, 0, 0, 1, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_1 = onnx.Pad %dy, %dx {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x4xf32>, tensor<6xi64>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[8, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_3 = onnx.Reshape %w, %dx_2 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<4x2x3xf32>, tensor<2xi64>) -> tensor<8x3xf32>
// CHECK-NEXT: %dx_4 = onnx.Transpose %dx_3 {perm = [1, 0], gradc.strategy = "conv-nxc-to-matmul"} : (tensor<8x3xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[12, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_6 = onnx.Reshape %dx_4, %dx_5 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<3x8xf32>, tensor<2xi64>) -> tensor<12x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[[0], [1], [2]]> : tensor<3x1xi64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx_1, %dx_7 {axis = 1, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x4x4xf32>, tensor<3x1xi64>) -> tensor<1x3x1x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[1, 3, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_10 = onnx.Reshape %dx_8, %dx_9 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x1x4xf32>, tensor<3xi64>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[4, 5, 6, 7]> : tensor<4xi64>
// CHECK-NEXT: %dx_12 = onnx.Gather %dx_6, %dx_11 {axis = 0, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<12x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
// CHECK-NEXT: %dx_13 = onnx.MatMul %dx_10, %dx_12 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x4xf32>, tensor<4x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>
// CHECK-NEXT: %dx_15 = onnx.Gather %dx_1, %dx_14 {axis = 1, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x4x4xf32>, tensor<3x2xi64>) -> tensor<1x3x2x4xf32>
// CHECK-NEXT: %dx_16 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[1, 3, 8]> : tensor<3xi64>
// CHECK-NEXT: %dx_17 = onnx.Reshape %dx_15, %dx_16 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x2x4xf32>, tensor<3xi64>) -> tensor<1x3x8xf32>
// CHECK-NEXT: %dx_18 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[0, 1, 2, 3, 8, 9, 10, 11]> : tensor<8xi64>
// CHECK-NEXT: %dx_19 = onnx.Gather %dx_6, %dx_18 {axis = 0, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<12x2xf32>, tensor<8xi64>) -> tensor<8x2xf32>
// CHECK-NEXT: %dx_20 = onnx.MatMul %dx_17, %dx_19 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x8xf32>, tensor<8x2xf32>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dx_21 = onnx.Concat %dx_13, %dx_20 {axis = 1, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x2xf32>, tensor<1x3x2xf32>) -> tensor<1x6x2xf32>
// CHECK-NEXT: %dx_22 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[0, 3, 1, 4, 2, 5]> : tensor<6xi64>
// CHECK-NEXT: %dx_23 = onnx.Gather %dx_21, %dx_22 {axis = 1, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x6x2xf32>, tensor<6xi64>) -> tensor<1x6x2xf32>
// CHECK-NEXT: func.return %dx_23 : tensor<1x6x2xf32>

// A forward convolution: windows with the stride.
func.func @forward(%dy: tensor<1x9x4xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x3x6xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [2], pads_begin = [1], pads_end = [0], groups = 1, layout = "NXC"} : (tensor<1x9x4xf32>, tensor<6x4x3xf32>) -> tensor<1x3x6xf32>
  func.return %dx : tensor<1x3x6xf32>
}
// CHECK-LABEL: func.func @forward(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[6, 12]> : tensor<2xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<6x4x3xf32>, tensor<2xi64>) -> tensor<6x12xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [1, 0], gradc.strategy = "conv-nxc-to-matmul"} : (tensor<6x12xf32>) -> tensor<12x6xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[0, 1, 0, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_4 = onnx.Pad %dy, %dx_3 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x9x4xf32>, tensor<6xi64>) -> tensor<1x10x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[[0, 2, 4], [2, 4, 6], [4, 6, 8]]> : tensor<3x3xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x10x4xf32>, tensor<3x3xi64>) -> tensor<1x3x3x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[1, 3, 12]> : tensor<3xi64>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_6, %dx_7 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x3x4xf32>, tensor<3xi64>) -> tensor<1x3x12xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-nxc-to-matmul"} dense<[0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]> : tensor<12xi64>
// CHECK-NEXT: %dx_10 = onnx.Gather %dx_2, %dx_9 {axis = 0, gradc.strategy = "conv-nxc-to-matmul"} : (tensor<12x6xf32>, tensor<12xi64>) -> tensor<12x6xf32>
// CHECK-NEXT: %dx_11 = onnx.MatMul %dx_8, %dx_10 {gradc.strategy = "conv-nxc-to-matmul"} : (tensor<1x3x12xf32>, tensor<12x6xf32>) -> tensor<1x3x6xf32>
// CHECK-NEXT: func.return %dx_11 : tensor<1x3x6xf32>

// 9 rows for each of 256 x 256 positions are more than it gathers.
func.func @large(%dy: tensor<1x256x256x4xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x256x256x2xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<1x256x256x4xf32>, tensor<4x2x3x3xf32>) -> tensor<1x256x256x2xf32>
  func.return %dx : tensor<1x256x256x2xf32>
}
// CHECK-LABEL: func.func @large(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<1x256x256x4xf32>, tensor<4x2x3x3xf32>) -> tensor<1x256x256x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x256x256x2xf32>

// Refused: of 36 phases each would be nodes; one ConvTranspose is quicker.
func.func @many_phases(%dy: tensor<1x3x3x2xf32>, %w: tensor<2x3x6x6xf32>) -> tensor<1x18x18x3xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [6, 6], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<1x3x3x2xf32>, tensor<2x3x6x6xf32>) -> tensor<1x18x18x3xf32>
  func.return %dx : tensor<1x18x18x3xf32>
}
// CHECK-LABEL: func.func @many_phases(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [6, 6], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<1x3x3x2xf32>, tensor<2x3x6x6xf32>) -> tensor<1x18x18x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x18x18x3xf32>
