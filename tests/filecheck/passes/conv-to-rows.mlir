// RUN: gradc-opt %s -p conv-to-rows,simplify | filecheck %s

// Slices of four rows and one of zeros. Of the Convs for the three taps of the height, each reads one row further.
func.func @slices(%dy: tensor<1x4x3x4x5xf32>, %w: tensor<4x2x3x3x3xf32>) -> tensor<1x2x3x4x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1, 1], dilations = [1, 1, 1], pads_begin = [1, 1, 1], pads_end = [1, 1, 1], groups = 1, residue = [0, 0, 0], layout = "NCX"} : (tensor<1x4x3x4x5xf32>, tensor<4x2x3x3x3xf32>) -> tensor<1x2x3x4x5xf32>
  func.return %dx : tensor<1x2x3x4x5xf32>
}
// CHECK-LABEL: func.func @slices(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[1, 4, 54]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx {gradc.strategy = "conv-to-rows"} : (tensor<4x2x3x3x3xf32>, tensor<3xi64>) -> tensor<1x4x54xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 2, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x4x54xf32>) -> tensor<1x54x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[2, 27, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "conv-to-rows"} : (tensor<1x54x4xf32>, tensor<3xi64>) -> tensor<2x27x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]> : tensor<27xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %dx_4, %dx_5 {axis = 1, gradc.strategy = "conv-to-rows"} : (tensor<2x27x4xf32>, tensor<27xi64>) -> tensor<2x27x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Transpose %dx_6 {perm = [0, 2, 1], gradc.strategy = "conv-to-rows"} : (tensor<2x27x4xf32>) -> tensor<2x4x27xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[2, 4, 3, 3, 3]> : tensor<5xi64>
// CHECK-NEXT: %dx_9 = onnx.Reshape %dx_7, %dx_8 {gradc.strategy = "conv-to-rows"} : (tensor<2x4x27xf32>, tensor<5xi64>) -> tensor<2x4x3x3x3xf32>
// CHECK-NEXT: %dx_10 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[0, 0, 0, 0, 0, 0, 0, 0, 1, 0]> : tensor<10xi64>
// CHECK-NEXT: %dx_11 = onnx.Pad %dy, %dx_10 {gradc.strategy = "conv-to-rows"} : (tensor<1x4x3x4x5xf32>, tensor<10xi64>) -> tensor<1x4x3x5x5xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[1, 4, 15, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_13 = onnx.Reshape %dx_11, %dx_12 {gradc.strategy = "conv-to-rows"} : (tensor<1x4x3x5x5xf32>, tensor<4xi64>) -> tensor<1x4x15x5xf32>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_15 = onnx.Gather %dx_9, %dx_14 {axis = 3, gradc.strategy = "conv-to-rows"} : (tensor<2x4x3x3x3xf32>, tensor<i64>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %dx_16 = onnx.Conv %dx_13, %dx_15 {dilations = [5, 1], group = 1, pads = [6, 1, 4, 1], strides = [1, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x4x15x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x15x5xf32>
// CHECK-NEXT: %dx_17 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_18 = onnx.Gather %dx_9, %dx_17 {axis = 3, gradc.strategy = "conv-to-rows"} : (tensor<2x4x3x3x3xf32>, tensor<i64>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %dx_19 = onnx.Conv %dx_13, %dx_18 {dilations = [5, 1], group = 1, pads = [5, 1, 5, 1], strides = [1, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x4x15x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x15x5xf32>
// CHECK-NEXT: %dx_20 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<2> : tensor<i64>
// CHECK-NEXT: %dx_21 = onnx.Gather %dx_9, %dx_20 {axis = 3, gradc.strategy = "conv-to-rows"} : (tensor<2x4x3x3x3xf32>, tensor<i64>) -> tensor<2x4x3x3xf32>
// CHECK-NEXT: %dx_22 = onnx.Conv %dx_13, %dx_21 {dilations = [5, 1], group = 1, pads = [4, 1, 6, 1], strides = [1, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x4x15x5xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x15x5xf32>
// CHECK-NEXT: %dx_23 = onnx.Add %dx_16, %dx_19 {gradc.strategy = "conv-to-rows"} : (tensor<1x2x15x5xf32>, tensor<1x2x15x5xf32>) -> tensor<1x2x15x5xf32>
// CHECK-NEXT: %dx_24 = onnx.Add %dx_23, %dx_22 {gradc.strategy = "conv-to-rows"} : (tensor<1x2x15x5xf32>, tensor<1x2x15x5xf32>) -> tensor<1x2x15x5xf32>
// CHECK-NEXT: %dx_25 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[1, 2, 3, 5, 5]> : tensor<5xi64>
// CHECK-NEXT: %dx_26 = onnx.Reshape %dx_24, %dx_25 {gradc.strategy = "conv-to-rows"} : (tensor<1x2x15x5xf32>, tensor<5xi64>) -> tensor<1x2x3x5x5xf32>
// CHECK-NEXT: %dx_27 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<0> : tensor<2xi64>
// CHECK-NEXT: %dx_28 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT: %dx_29 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_30 = onnx.Slice %dx_26, %dx_27, %dx_28, %dx_29 {gradc.strategy = "conv-to-rows"} : (tensor<1x2x3x5x5xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x3x4x5xf32>
// CHECK-NEXT: func.return %dx_30 : tensor<1x2x3x4x5xf32>

// Kernel 1 on the depth: the height's taps are the kernel of one Conv. The rows whose windows reach into
// the next slice are cut off.
func.func @flat(%dy: tensor<1x3x4x5x4xf32>, %w: tensor<6x2x1x3x3xf32>) -> tensor<1x3x2x3x6xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [1, 1, 1], dilations = [1, 1, 1], pads_begin = [0, 0, 0], pads_end = [0, 0, 0], groups = 2, layout = "NXC"} : (tensor<1x3x4x5x4xf32>, tensor<6x2x1x3x3xf32>) -> tensor<1x3x2x3x6xf32>
  func.return %dx : tensor<1x3x2x3x6xf32>
}
// CHECK-LABEL: func.func @flat(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[1, 12, 5, 4]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "conv-to-rows"} : (tensor<1x3x4x5x4xf32>, tensor<4xi64>) -> tensor<1x12x5x4xf32>
// CHECK-NEXT: %dx_2 = onnx.Transpose %dx_1 {perm = [0, 3, 1, 2], gradc.strategy = "conv-to-rows"} : (tensor<1x12x5x4xf32>) -> tensor<1x4x12x5xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Squeeze %w, %dx_3 {gradc.strategy = "conv-to-rows"} : (tensor<6x2x1x3x3xf32>, tensor<1xi64>) -> tensor<6x2x3x3xf32>
// CHECK-NEXT: %dx_5 = onnx.Conv %dx_2, %dx_4 {dilations = [1, 1], group = 2, pads = [0, 0, 2, 0], strides = [1, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x4x12x5xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x12x3xf32>
// CHECK-NEXT: %dx_6 = onnx.Transpose %dx_5 {perm = [0, 2, 3, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x6x12x3xf32>) -> tensor<1x12x3x6xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[[0, 1], [4, 5], [8, 9]]> : tensor<3x2xi64>
// CHECK-NEXT: %dx_8 = onnx.Gather %dx_6, %dx_7 {axis = 1, gradc.strategy = "conv-to-rows"} : (tensor<1x12x3x6xf32>, tensor<3x2xi64>) -> tensor<1x3x2x3x6xf32>
// CHECK-NEXT: func.return %dx_8 : tensor<1x3x2x3x6xf32>

// No pads: a slice behind the last one is computed, and cut off.
func.func @beyond(%dy: tensor<1x2x3x3x3xf32>, %w: tensor<2x2x2x2x2xf32>) -> tensor<1x2x2x2x2xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [1, 1, 1], dilations = [1, 1, 1], pads_begin = [0, 0, 0], pads_end = [0, 0, 0], groups = 1, layout = "NCX"} : (tensor<1x2x3x3x3xf32>, tensor<2x2x2x2x2xf32>) -> tensor<1x2x2x2x2xf32>
  func.return %dx : tensor<1x2x2x2x2xf32>
}
// CHECK-LABEL: func.func @beyond(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[1, 2, 9, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "conv-to-rows"} : (tensor<1x2x3x3x3xf32>, tensor<4xi64>) -> tensor<1x2x9x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_3 = onnx.Gather %w, %dx_2 {axis = 3, gradc.strategy = "conv-to-rows"} : (tensor<2x2x2x2x2xf32>, tensor<i64>) -> tensor<2x2x2x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Conv %dx_1, %dx_3 {dilations = [3, 1], group = 1, pads = [1, 0, 2, 0], strides = [1, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x2x9x3xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x9x2xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_6 = onnx.Gather %w, %dx_5 {axis = 3, gradc.strategy = "conv-to-rows"} : (tensor<2x2x2x2x2xf32>, tensor<i64>) -> tensor<2x2x2x2xf32>
// CHECK-NEXT: %dx_7 = onnx.Conv %dx_1, %dx_6 {dilations = [3, 1], group = 1, pads = [0, 0, 3, 0], strides = [1, 1], gradc.strategy = "conv-to-rows"} : (tensor<1x2x9x3xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x9x2xf32>
// CHECK-NEXT: %dx_8 = onnx.Add %dx_4, %dx_7 {gradc.strategy = "conv-to-rows"} : (tensor<1x2x9x2xf32>, tensor<1x2x9x2xf32>) -> tensor<1x2x9x2xf32>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[1, 2, 3, 3, 2]> : tensor<5xi64>
// CHECK-NEXT: %dx_10 = onnx.Reshape %dx_8, %dx_9 {gradc.strategy = "conv-to-rows"} : (tensor<1x2x9x2xf32>, tensor<5xi64>) -> tensor<1x2x3x3x2xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "conv-to-rows"} dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %dx_13 = onnx.Slice %dx_10, %dx_11, %dx_12, %dx_12 {gradc.strategy = "conv-to-rows"} : (tensor<1x2x3x3x2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x2x2x2xf32>
// CHECK-NEXT: func.return %dx_13 : tensor<1x2x2x2x2xf32>

// A batch with a name has no size: it may be empty, of which onnxruntime cannot add convolutions.
func.func @named_batch(%dy: tensor<?x2x2x2x2xf32, ["N", "", "", "", ""]>, %w: tensor<2x2x2x2x2xf32>) -> tensor<?x2x3x3x3xf32, ["N", "", "", "", ""]> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1, 1], dilations = [1, 1, 1], pads_begin = [0, 0, 0], pads_end = [0, 0, 0], groups = 1, residue = [0, 0, 0], layout = "NCX"} : (tensor<?x2x2x2x2xf32, ["N", "", "", "", ""]>, tensor<2x2x2x2x2xf32>) -> tensor<?x2x3x3x3xf32, ["N", "", "", "", ""]>
  func.return %dx : tensor<?x2x3x3x3xf32, ["N", "", "", "", ""]>
}
// CHECK-LABEL: func.func @named_batch(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1, 1, 1], dilations = [1, 1, 1], pads_begin = [0, 0, 0], pads_end = [0, 0, 0], groups = 1, residue = [0, 0, 0], layout = "NCX"} : (tensor<?x2x2x2x2xf32, ["N", "", "", "", ""]>, tensor<2x2x2x2x2xf32>) -> tensor<?x2x3x3x3xf32, ["N", "", "", "", ""]>
// CHECK-NEXT: func.return %dx : tensor<?x2x3x3x3xf32, ["N", "", "", "", ""]>
