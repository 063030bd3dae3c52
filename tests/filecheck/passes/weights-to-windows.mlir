// RUN: gradc-opt %s -p weights-to-windows,simplify | filecheck %s

// The taps of a channel side by side, and one product. Images of a batch are one more axis of windows.
func.func @windows(%x: tensor<?x4x6xf32>, %dy: tensor<?x5x3xf32>) -> tensor<5x4x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<?x4x6xf32>, tensor<?x5x3xf32>) -> tensor<5x4x2xf32>
  func.return %dw : tensor<5x4x2xf32>
}
// CHECK-LABEL: func.func @windows(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-windows"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_1 = onnx.Transpose %x {perm = [1, 0, 2], gradc.strategy = "weights-to-windows"} : (tensor<?x4x6xf32>) -> tensor<4x?x6xf32>
// CHECK-NEXT: %dw_2 = onnx.Unsqueeze %dw_1, %dw {gradc.strategy = "weights-to-windows"} : (tensor<4x?x6xf32>, tensor<1xi64>) -> tensor<1x4x?x6xf32>
// CHECK-NEXT: %dw_3 = onnx.Transpose %dy {perm = [1, 0, 2], gradc.strategy = "weights-to-windows"} : (tensor<?x5x3xf32>) -> tensor<5x?x3xf32>
// CHECK-NEXT: %dw_4 = onnx.Constant {gradc.strategy = "weights-to-windows"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_5 = onnx.Unsqueeze %dw_2, %dw_4 {gradc.strategy = "weights-to-windows"} : (tensor<1x4x?x6xf32>, tensor<1xi64>) -> tensor<1x4x1x?x6xf32>
// CHECK-NEXT: %dw_6 = onnx.Constant {gradc.strategy = "weights-to-windows"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dw_7 = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-NEXT: %dw_8 = onnx.Slice %dw_5, %dw, %dw_7, %dw_6, %dw_4 {gradc.strategy = "weights-to-windows"} : (tensor<1x4x1x?x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x1x?x3xf32>
// CHECK-NEXT: %dw_9 = onnx.Constant {gradc.strategy = "weights-to-windows"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dw_10 = onnx.Constant dense<7> : tensor<1xi64>
// CHECK-NEXT: %dw_11 = onnx.Slice %dw_5, %dw_9, %dw_10, %dw_6, %dw_4 {gradc.strategy = "weights-to-windows"} : (tensor<1x4x1x?x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x1x?x3xf32>
// CHECK-NEXT: %dw_12 = onnx.Concat %dw_8, %dw_11 {axis = 2, gradc.strategy = "weights-to-windows"} : (tensor<1x4x1x?x3xf32>, tensor<1x4x1x?x3xf32>) -> tensor<1x4x2x?x3xf32>
// CHECK-NEXT: %dw_13 = onnx.Constant {gradc.strategy = "weights-to-windows"} dense<[5, -1]> : tensor<2xi64>
// CHECK-NEXT: %dw_14 = onnx.Reshape %dw_3, %dw_13 : (tensor<5x?x3xf32>, tensor<2xi64>) -> tensor<5x?xf32>
// CHECK-NEXT: %dw_15 = onnx.Constant {gradc.strategy = "weights-to-windows"} dense<[8, -1]> : tensor<2xi64>
// CHECK-NEXT: %dw_16 = onnx.Reshape %dw_12, %dw_15 {gradc.strategy = "weights-to-windows"} : (tensor<1x4x2x?x3xf32>, tensor<2xi64>) -> tensor<8x?xf32>
// CHECK-NEXT: %dw_17 = onnx.Gemm %dw_14, %dw_16 {transB = 1, gradc.strategy = "weights-to-windows"} : (tensor<5x?xf32>, tensor<8x?xf32>) -> tensor<5x8xf32>
// CHECK-NEXT: %dw_18 = onnx.Constant {gradc.strategy = "weights-to-windows"} dense<[5, 4, 2]> : tensor<3xi64>
// CHECK-NEXT: %dw_19 = onnx.Reshape %dw_17, %dw_18 {gradc.strategy = "weights-to-windows"} : (tensor<5x8xf32>, tensor<3xi64>) -> tensor<5x4x2xf32>
// CHECK-NEXT: func.return %dw_19 : tensor<5x4x2xf32>
