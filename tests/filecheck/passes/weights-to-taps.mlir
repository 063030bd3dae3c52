// RUN: gradc-opt %s -p weights-to-taps,simplify | filecheck %s

// One product of the two taps' reads each, and the two side by side.
func.func @taps(%x: tensor<1x4x6xf32>, %dy: tensor<1x5x3xf32>) -> tensor<5x4x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2], strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x6xf32>, tensor<1x5x3xf32>) -> tensor<5x4x2xf32>
  func.return %dw : tensor<5x4x2xf32>
}
// CHECK-LABEL: func.func @taps(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_1 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_2 = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-NEXT: %dw_3 = onnx.Slice %x, %dw_1, %dw_2, %dw, %dw {gradc.strategy = "weights-to-taps"} : (tensor<1x4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x3xf32>
// CHECK-NEXT: %dw_4 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dw_5 = onnx.Constant dense<7> : tensor<1xi64>
// CHECK-NEXT: %dw_6 = onnx.Slice %x, %dw_4, %dw_5, %dw, %dw {gradc.strategy = "weights-to-taps"} : (tensor<1x4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x3xf32>
// CHECK-NEXT: %dw_7 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<[5, 3]> : tensor<2xi64>
// CHECK-NEXT: %dw_8 = onnx.Reshape %dy, %dw_7 {gradc.strategy = "weights-to-taps"} : (tensor<1x5x3xf32>, tensor<2xi64>) -> tensor<5x3xf32>
// CHECK-NEXT: %dw_9 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<[4, 3]> : tensor<2xi64>
// CHECK-NEXT: %dw_10 = onnx.Reshape %dw_3, %dw_9 {gradc.strategy = "weights-to-taps"} : (tensor<1x4x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
// CHECK-NEXT: %dw_11 = onnx.Gemm %dw_8, %dw_10 {transB = 1, gradc.strategy = "weights-to-taps"} : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %dw_12 = onnx.Reshape %dw_6, %dw_9 {gradc.strategy = "weights-to-taps"} : (tensor<1x4x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
// CHECK-NEXT: %dw_13 = onnx.Gemm %dw_8, %dw_12 {transB = 1, gradc.strategy = "weights-to-taps"} : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %dw_14 = onnx.Unsqueeze %dw_11, %dw {gradc.strategy = "weights-to-taps"} : (tensor<5x4xf32>, tensor<1xi64>) -> tensor<5x4x1xf32>
// CHECK-NEXT: %dw_15 = onnx.Unsqueeze %dw_13, %dw {gradc.strategy = "weights-to-taps"} : (tensor<5x4xf32>, tensor<1xi64>) -> tensor<5x4x1xf32>
// CHECK-NEXT: %dw_16 = onnx.Concat %dw_14, %dw_15 {axis = 2, gradc.strategy = "weights-to-taps"} : (tensor<5x4x1xf32>, tensor<5x4x1xf32>) -> tensor<5x4x2xf32>
// CHECK-NEXT: func.return %dw_16 : tensor<5x4x2xf32>

// A kernel of one tap is one product, summed over the batch; no Slice.
func.func @one(%x: tensor<?x6x4xf32>, %dy: tensor<?x6x6xf32>) -> tensor<6x2x1xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [1], strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NXC"} : (tensor<?x6x4xf32>, tensor<?x6x6xf32>) -> tensor<6x2x1xf32>
  func.return %dw : tensor<6x2x1xf32>
}
// CHECK-LABEL: func.func @one(
// CHECK-NEXT: %dw = onnx.Transpose %x {perm = [0, 2, 1], gradc.strategy = "weights-to-taps"} : (tensor<?x6x4xf32>) -> tensor<?x4x6xf32>
// CHECK-NEXT: %dw_1 = onnx.Transpose %dy {perm = [0, 2, 1], gradc.strategy = "weights-to-taps"} : (tensor<?x6x6xf32>) -> tensor<?x6x6xf32>
// CHECK-NEXT: %dw_2 = onnx.Shape %dy : (tensor<?x6x6xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dw_3 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_4 = onnx.Gather %dw_2, %dw_3 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_5 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_6 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<6> : tensor<1xi64>
// CHECK-NEXT: %dw_7 = onnx.Concat %dw_4, %dw_5, %dw_5, %dw_6 {axis = 0, gradc.strategy = "weights-to-taps"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT: %dw_8 = onnx.Reshape %dw, %dw_7 {gradc.strategy = "weights-to-taps"} : (tensor<?x4x6xf32>, tensor<4xi64>) -> tensor<?x2x2x6xf32>
// CHECK-NEXT: %dw_9 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dw_10 = onnx.Concat %dw_4, %dw_5, %dw_9, %dw_6 {axis = 0, gradc.strategy = "weights-to-taps"} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT: %dw_11 = onnx.Reshape %dw_1, %dw_10 {gradc.strategy = "weights-to-taps"} : (tensor<?x6x6xf32>, tensor<4xi64>) -> tensor<?x2x3x6xf32>
// CHECK-NEXT: %dw_12 = onnx.Transpose %dw_8 {perm = [0, 1, 3, 2], gradc.strategy = "weights-to-taps"} : (tensor<?x2x2x6xf32>) -> tensor<?x2x6x2xf32>
// CHECK-NEXT: %dw_13 = onnx.MatMul %dw_11, %dw_12 {gradc.strategy = "weights-to-taps"} : (tensor<?x2x3x6xf32>, tensor<?x2x6x2xf32>) -> tensor<?x2x3x2xf32>
// CHECK-NEXT: %dw_14 = onnx.ReduceSum %dw_13, %dw_3 {keepdims = 0, gradc.strategy = "weights-to-taps"} : (tensor<?x2x3x2xf32>, tensor<1xi64>) -> tensor<2x3x2xf32>
// CHECK-NEXT: %dw_15 = onnx.Constant {gradc.strategy = "weights-to-taps"} dense<[6, 2]> : tensor<2xi64>
// CHECK-NEXT: %dw_16 = onnx.Reshape %dw_14, %dw_15 {gradc.strategy = "weights-to-taps"} : (tensor<2x3x2xf32>, tensor<2xi64>) -> tensor<6x2xf32>
// CHECK-NEXT: %dw_17 = onnx.Unsqueeze %dw_16, %dw_5 {gradc.strategy = "weights-to-taps"} : (tensor<6x2xf32>, tensor<1xi64>) -> tensor<6x2x1xf32>
// CHECK-NEXT: func.return %dw_17 : tensor<6x2x1xf32>
