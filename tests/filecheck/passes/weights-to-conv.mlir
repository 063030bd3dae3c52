// RUN: gradc-opt %s -p weights-to-conv,simplify | filecheck %s

// Strides and dilations exchanged; the last position of x is no window's, and one place too many.
func.func @conv(%x: tensor<2x4x8xf32>, %dy: tensor<2x6x3xf32>) -> tensor<6x2x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2], strides = [3], dilations = [1], pads_begin = [1], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<2x4x8xf32>, tensor<2x6x3xf32>) -> tensor<6x2x2xf32>
  func.return %dw : tensor<6x2x2xf32>
}
// CHECK-LABEL: func.func @conv(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-conv"} dense<[2, 2, 2, 8]> : tensor<4xi64>
// CHECK-NEXT: %dw_1 = onnx.Reshape %x, %dw {gradc.strategy = "weights-to-conv"} : (tensor<2x4x8xf32>, tensor<4xi64>) -> tensor<2x2x2x8xf32>
// CHECK-NEXT: %dw_2 = onnx.Transpose %dw_1 {perm = [2, 1, 0, 3], gradc.strategy = "weights-to-conv"} : (tensor<2x2x2x8xf32>) -> tensor<2x2x2x8xf32>
// CHECK-NEXT: %dw_3 = onnx.Constant {gradc.strategy = "weights-to-conv"} dense<[2, 4, 8]> : tensor<3xi64>
// CHECK-NEXT: %dw_4 = onnx.Reshape %dw_2, %dw_3 {gradc.strategy = "weights-to-conv"} : (tensor<2x2x2x8xf32>, tensor<3xi64>) -> tensor<2x4x8xf32>
// CHECK-NEXT: %dw_5 = onnx.Transpose %dy {perm = [1, 0, 2], gradc.strategy = "weights-to-conv"} : (tensor<2x6x3xf32>) -> tensor<6x2x3xf32>
// CHECK-NEXT: %dw_6 = onnx.Conv %dw_4, %dw_5 {dilations = [3], group = 2, pads = [1, 0], strides = [1], gradc.strategy = "weights-to-conv"} : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x3xf32>
// CHECK-NEXT: %dw_7 = onnx.Constant {gradc.strategy = "weights-to-conv"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_8 = onnx.Constant {gradc.strategy = "weights-to-conv"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_9 = onnx.Slice %dw_6, %dw_7, %dw_8, %dw_8 {gradc.strategy = "weights-to-conv"} : (tensor<2x6x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x6x2xf32>
// CHECK-NEXT: %dw_10 = onnx.Transpose %dw_9 {perm = [1, 0, 2], gradc.strategy = "weights-to-conv"} : (tensor<2x6x2xf32>) -> tensor<6x2x2xf32>
// CHECK-NEXT: func.return %dw_10 : tensor<6x2x2xf32>
