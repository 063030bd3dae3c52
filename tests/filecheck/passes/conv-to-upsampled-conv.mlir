// RUN: gradc-opt %s -p conv-to-upsampled-conv,simplify | filecheck %s

// X = 2 (3 - 1) + 3 - 1 - 1 + 1 = 6. Pads of the convolution: 3 - 1 - 1 = 1 before, 6 + 1 - 2 * 3 = 1 after.
func.func @depthwise(%dy: tensor<1x4x3x3xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 2], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 4, residue = [1, 1], layout = "NCX"} : (tensor<1x4x3x3xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return %dx : tensor<1x4x6x6xf32>
}
// CHECK-LABEL: func.func @depthwise(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "conv-to-upsampled-conv"} dense<[4, 9, 1]> : tensor<3xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %w, %dx : (tensor<4x1x3x3xf32>, tensor<3xi64>) -> tensor<4x9x1xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-upsampled-conv"} dense<[8, 7, 6, 5, 4, 3, 2, 1, 0]> : tensor<9xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 1, gradc.strategy = "conv-to-upsampled-conv"} : (tensor<4x9x1xf32>, tensor<9xi64>) -> tensor<4x9x1xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "conv-to-upsampled-conv"} dense<[4, 1, 3, 3]> : tensor<4xi64>
// CHECK-NEXT: %dx_5 = onnx.Reshape %dx_3, %dx_4 : (tensor<4x9x1xf32>, tensor<4xi64>) -> tensor<4x1x3x3xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "conv-to-upsampled-conv"} dense<[1.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: %dx_7 = onnx.Resize %dy, _, %dx_6 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "conv-to-upsampled-conv"} : (tensor<1x4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "conv-to-upsampled-conv"} dense<[[1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<6x6xf32>
// CHECK-NEXT: %dx_9 = onnx.Mul %dx_7, %dx_8 {gradc.strategy = "conv-to-upsampled-conv"} : (tensor<1x4x6x6xf32>, tensor<6x6xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT: %dx_10 = onnx.Conv %dx_9, %dx_5 {dilations = [1, 1], group = 4, pads = [1, 1, 1, 1], strides = [1, 1], gradc.strategy = "conv-to-upsampled-conv"} : (tensor<1x4x6x6xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT: func.return %dx_10 : tensor<1x4x6x6xf32>

// A kernel shorter than its stride would need negative pads: left alone.
func.func @short(%dy: tensor<1x4x3xf32>, %w: tensor<4x2x1xf32>) -> tensor<1x2x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x2x1xf32>) -> tensor<1x2x5xf32>
  func.return %dx : tensor<1x2x5xf32>
}
// CHECK-LABEL: func.func @short(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x2x1xf32>) -> tensor<1x2x5xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x5xf32>
