// RUN: gradc-opt %s -p weights-to-unfolded,simplify | filecheck %s

// A Conv with a one at one tap per channel of its result, over images of one channel.
func.func @unfolded(%x: tensor<1x4x6xf32>, %dy: tensor<1x5x4xf32>) -> tensor<5x4x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2], strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x4x6xf32>, tensor<1x5x4xf32>) -> tensor<5x4x2xf32>
  func.return %dw : tensor<5x4x2xf32>
}
// CHECK-LABEL: func.func @unfolded(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-unfolded"} dense<[4, 1, 6]> : tensor<3xi64>
// CHECK-NEXT: %dw_1 = onnx.Reshape %x, %dw {gradc.strategy = "weights-to-unfolded"} : (tensor<1x4x6xf32>, tensor<3xi64>) -> tensor<4x1x6xf32>
// CHECK-NEXT: %dw_2 = onnx.Constant {gradc.strategy = "weights-to-unfolded"} dense<[[[1.000000e+00, 0.000000e+00]], [[0.000000e+00, 1.000000e+00]]]> : tensor<2x1x2xf32>
// CHECK-NEXT: %dw_3 = onnx.Conv %dw_1, %dw_2 {dilations = [1], pads = [1, 1], strides = [2], gradc.strategy = "weights-to-unfolded"} : (tensor<4x1x6xf32>, tensor<2x1x2xf32>) -> tensor<4x2x4xf32>
// CHECK-NEXT: %dw_4 = onnx.Constant {gradc.strategy = "weights-to-unfolded"} dense<[5, 4]> : tensor<2xi64>
// CHECK-NEXT: %dw_5 = onnx.Reshape %dy, %dw_4 {gradc.strategy = "weights-to-unfolded"} : (tensor<1x5x4xf32>, tensor<2xi64>) -> tensor<5x4xf32>
// CHECK-NEXT: %dw_6 = onnx.Constant {gradc.strategy = "weights-to-unfolded"} dense<[8, 4]> : tensor<2xi64>
// CHECK-NEXT: %dw_7 = onnx.Reshape %dw_3, %dw_6 : (tensor<4x2x4xf32>, tensor<2xi64>) -> tensor<8x4xf32>
// CHECK-NEXT: %dw_8 = onnx.Gemm %dw_5, %dw_7 {transB = 1, gradc.strategy = "weights-to-unfolded"} : (tensor<5x4xf32>, tensor<8x4xf32>) -> tensor<5x8xf32>
// CHECK-NEXT: %dw_9 = onnx.Constant {gradc.strategy = "weights-to-unfolded"} dense<[5, 4, 2]> : tensor<3xi64>
// CHECK-NEXT: %dw_10 = onnx.Reshape %dw_8, %dw_9 {gradc.strategy = "weights-to-unfolded"} : (tensor<5x8xf32>, tensor<3xi64>) -> tensor<5x4x2xf32>
// CHECK-NEXT: func.return %dw_10 : tensor<5x4x2xf32>
