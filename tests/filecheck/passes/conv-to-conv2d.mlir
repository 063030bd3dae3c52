// RUN: gradc-opt %s -p conv-to-conv2d,simplify | filecheck %s

// One axis is an image of one row.
func.func @row(%dy: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x3xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [2], pads_begin = [1], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  func.return %dx : tensor<1x6x3xf32>
}
// CHECK-LABEL: func.func @row(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Unsqueeze %dy, %dx {gradc.strategy = "conv-to-conv2d"} : (tensor<1x4x9xf32>, tensor<1xi64>) -> tensor<1x4x1x9xf32>
// CHECK-NEXT: %dx_2 = onnx.Unsqueeze %w, %dx {gradc.strategy = "conv-to-conv2d"} : (tensor<6x2x3xf32>, tensor<1xi64>) -> tensor<6x2x1x3xf32>
// CHECK-NEXT: %dx_3 = onnx.Conv %dx_1, %dx_2 {dilations = [1, 2], group = 2, pads = [0, 1, 0, 0], strides = [1, 2], gradc.strategy = "conv-to-conv2d"} : (tensor<1x4x1x9xf32>, tensor<6x2x1x3xf32>) -> tensor<1x6x1x3xf32>
// CHECK-NEXT: %dx_4 = onnx.Squeeze %dx_3, %dx {gradc.strategy = "conv-to-conv2d"} : (tensor<1x6x1x3xf32>, tensor<1xi64>) -> tensor<1x6x3xf32>
// CHECK-NEXT: func.return %dx_4 : tensor<1x6x3xf32>

// Three: the first one's taps are channels, strided slices of the padded depth.
func.func @deep(%dy: tensor<1x4x5x6x6xf32>, %w: tensor<3x4x2x3x3xf32>) -> tensor<1x3x3x4x4xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2, 1, 1], dilations = [1, 1, 1], pads_begin = [1, 0, 0], pads_end = [0, 0, 0], groups = 1, layout = "NCX"} : (tensor<1x4x5x6x6xf32>, tensor<3x4x2x3x3xf32>) -> tensor<1x3x3x4x4xf32>
  func.return %dx : tensor<1x3x3x4x4xf32>
}
// CHECK-LABEL: func.func @deep(
// CHECK-NEXT: %dx = onnx.Transpose %dy {perm = [0, 2, 1, 3, 4], gradc.strategy = "conv-to-conv2d"} : (tensor<1x4x5x6x6xf32>) -> tensor<1x5x4x6x6xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]> : tensor<10xi64>
// CHECK-NEXT: %dx_2 = onnx.Pad %dx, %dx_1 {gradc.strategy = "conv-to-conv2d"} : (tensor<1x5x4x6x6xf32>, tensor<10xi64>) -> tensor<1x6x4x6x6xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<5> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Slice %dx_2, %dx_3, %dx_4, %dx_5, %dx_6 {gradc.strategy = "conv-to-conv2d"} : (tensor<1x6x4x6x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x4x6x6xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<6> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Slice %dx_2, %dx_5, %dx_8, %dx_5, %dx_6 {gradc.strategy = "conv-to-conv2d"} : (tensor<1x6x4x6x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x4x6x6xf32>
// CHECK-NEXT: %dx_10 = onnx.Concat %dx_7, %dx_9 {axis = 2, gradc.strategy = "conv-to-conv2d"} : (tensor<1x3x4x6x6xf32>, tensor<1x3x4x6x6xf32>) -> tensor<1x3x8x6x6xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<[3, 8, 6, 6]> : tensor<4xi64>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_10, %dx_11 {gradc.strategy = "conv-to-conv2d"} : (tensor<1x3x8x6x6xf32>, tensor<4xi64>) -> tensor<3x8x6x6xf32>
// CHECK-NEXT: %dx_13 = onnx.Transpose %w {perm = [0, 2, 1, 3, 4], gradc.strategy = "conv-to-conv2d"} : (tensor<3x4x2x3x3xf32>) -> tensor<3x2x4x3x3xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<[3, 8, 3, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_15 = onnx.Reshape %dx_13, %dx_14 {gradc.strategy = "conv-to-conv2d"} : (tensor<3x2x4x3x3xf32>, tensor<4xi64>) -> tensor<3x8x3x3xf32>
// CHECK-NEXT: %dx_16 = onnx.Conv %dx_12, %dx_15 {dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-conv2d"} : (tensor<3x8x6x6xf32>, tensor<3x8x3x3xf32>) -> tensor<3x3x4x4xf32>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "conv-to-conv2d"} dense<[1, 3, 3, 4, 4]> : tensor<5xi64>
// CHECK-NEXT: %dx_18 = onnx.Reshape %dx_16, %dx_17 {gradc.strategy = "conv-to-conv2d"} : (tensor<3x3x4x4xf32>, tensor<5xi64>) -> tensor<1x3x3x4x4xf32>
// CHECK-NEXT: %dx_19 = onnx.Transpose %dx_18 {perm = [0, 2, 1, 3, 4], gradc.strategy = "conv-to-conv2d"} : (tensor<1x3x3x4x4xf32>) -> tensor<1x3x3x4x4xf32>
// CHECK-NEXT: func.return %dx_19 : tensor<1x3x3x4x4xf32>

// Two are left alone.
func.func @flat(%dy: tensor<1x4x5x5xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x3x5x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x4x5x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x3x5x5xf32>
  func.return %dx : tensor<1x3x5x5xf32>
}
// CHECK-LABEL: func.func @flat(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x4x5x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x3x5x5xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x5x5xf32>
