// RUN: gradc-opt %s -p 'lower-onednn{strict_ieee=true},simplify' | filecheck %s

// Pads that run time knows: every place of the window at stride 1, then every second one from Ke - 1 - pb.
func.func @same(%dy: tensor<1x4x?xf32>, %w: tensor<3x4x2xf32>) -> tensor<1x3x?xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper", auto_pad_rule = "library", data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x?xf32>, tensor<3x4x2xf32>) -> tensor<1x3x?xf32>
  func.return %dx : tensor<1x3x?xf32>
}
// CHECK-LABEL: func.func @same(
// CHECK-NEXT: %dx = onnx.Shape %dy : (tensor<1x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Gather %dx, %dx_1 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Sub %dx_2, %dx_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Div %dx_4, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Mul %dx_1, %dx_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Sub %dx_2, %dx_6 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Sub %dx_1, %dx_7 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Max %dx_8, %dx_9 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_11 = onnx.Div %dx_10, %dx_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_12 = onnx.Sub %dx_10, %dx_11 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x4x?xf32>, tensor<3x4x2xf32>) -> tensor<1x3x?xf32>
// CHECK-NEXT: %dx_14 = onnx.Add %dx_2, %dx_12 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_15 = onnx.Sub %dx_3, %dx_11 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_16 = onnx.Slice %dx_13, %dx_15, %dx_14, %dx_1, %dx_1 : (tensor<1x3x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x?xf32>
// CHECK-NEXT: func.return %dx_16 : tensor<1x3x?xf32>

// Known pads stay those of the op.
func.func @known(%dy: tensor<1x4x6xf32>, %w: tensor<3x4x3xf32>) -> tensor<1x3x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [1], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x6xf32>, tensor<3x4x3xf32>) -> tensor<1x3x3xf32>
  func.return %dx : tensor<1x3x3xf32>
}
// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x4x6xf32>, tensor<3x4x3xf32>) -> tensor<1x3x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x3xf32>
