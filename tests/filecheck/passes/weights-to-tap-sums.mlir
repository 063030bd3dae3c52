// RUN: gradc-opt %s -p weights-to-tap-sums,simplify | filecheck %s

// A depthwise convolution: for each tap a Mul, and sums over windows and images.
func.func @depthwise(%x: tensor<2x3x5xf32>, %dy: tensor<2x3x4xf32>) -> tensor<3x1x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2], strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 3, layout = "NCX"} : (tensor<2x3x5xf32>, tensor<2x3x4xf32>) -> tensor<3x1x2xf32>
  func.return %dw : tensor<3x1x2xf32>
}
// CHECK-LABEL: func.func @depthwise(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dw_1 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_2 = onnx.Constant dense<4> : tensor<1xi64>
// CHECK-NEXT: %dw_3 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_4 = onnx.Slice %x, %dw_1, %dw_2, %dw_3 {gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %dw_5 = onnx.Constant dense<5> : tensor<1xi64>
// CHECK-NEXT: %dw_6 = onnx.Slice %x, %dw, %dw_5, %dw_3 {gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %dw_7 = onnx.Mul %dy, %dw_4 {gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %dw_8 = onnx.ReduceSum %dw_7, %dw_3 {keepdims = 0, gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3xf32>
// CHECK-NEXT: %dw_9 = onnx.ReduceSum %dw_8, %dw_1 {keepdims = 0, gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<3xf32>
// CHECK-NEXT: %dw_10 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<[3, 1]> : tensor<2xi64>
// CHECK-NEXT: %dw_11 = onnx.Reshape %dw_9, %dw_10 {gradc.strategy = "weights-to-tap-sums"} : (tensor<3xf32>, tensor<2xi64>) -> tensor<3x1xf32>
// CHECK-NEXT: %dw_12 = onnx.Mul %dy, %dw_6 {gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %dw_13 = onnx.ReduceSum %dw_12, %dw_3 {keepdims = 0, gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x3xf32>
// CHECK-NEXT: %dw_14 = onnx.ReduceSum %dw_13, %dw_1 {keepdims = 0, gradc.strategy = "weights-to-tap-sums"} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<3xf32>
// CHECK-NEXT: %dw_15 = onnx.Reshape %dw_14, %dw_10 {gradc.strategy = "weights-to-tap-sums"} : (tensor<3xf32>, tensor<2xi64>) -> tensor<3x1xf32>
// CHECK-NEXT: %dw_16 = onnx.Concat %dw_11, %dw_15 {axis = 1, gradc.strategy = "weights-to-tap-sums"} : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %dw_17 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<[3, 1, 2]> : tensor<3xi64>
// CHECK-NEXT: %dw_18 = onnx.Reshape %dw_16, %dw_17 {gradc.strategy = "weights-to-tap-sums"} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x1x2xf32>
// CHECK-NEXT: func.return %dw_18 : tensor<3x1x2xf32>

// Two channels of dy for each of x.
func.func @two(%x: tensor<1x3x5xf32>, %dy: tensor<1x6x5xf32>) -> tensor<6x1x1xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [1], strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 3, layout = "NCX"} : (tensor<1x3x5xf32>, tensor<1x6x5xf32>) -> tensor<6x1x1xf32>
  func.return %dw : tensor<6x1x1xf32>
}
// CHECK-LABEL: func.func @two(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<[1, 3, 2, 5]> : tensor<4xi64>
// CHECK-NEXT: %dw_1 = onnx.Reshape %dy, %dw {gradc.strategy = "weights-to-tap-sums"} : (tensor<1x6x5xf32>, tensor<4xi64>) -> tensor<1x3x2x5xf32>
// CHECK-NEXT: %dw_2 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_3 = onnx.Unsqueeze %x, %dw_2 {gradc.strategy = "weights-to-tap-sums"} : (tensor<1x3x5xf32>, tensor<1xi64>) -> tensor<1x3x1x5xf32>
// CHECK-NEXT: %dw_4 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dw_5 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_6 = onnx.Mul %dw_1, %dw_3 {gradc.strategy = "weights-to-tap-sums"} : (tensor<1x3x2x5xf32>, tensor<1x3x1x5xf32>) -> tensor<1x3x2x5xf32>
// CHECK-NEXT: %dw_7 = onnx.ReduceSum %dw_6, %dw_4 {keepdims = 0, gradc.strategy = "weights-to-tap-sums"} : (tensor<1x3x2x5xf32>, tensor<1xi64>) -> tensor<1x3x2xf32>
// CHECK-NEXT: %dw_8 = onnx.ReduceSum %dw_7, %dw_5 {keepdims = 0, gradc.strategy = "weights-to-tap-sums"} : (tensor<1x3x2xf32>, tensor<1xi64>) -> tensor<3x2xf32>
// CHECK-NEXT: %dw_9 = onnx.Constant {gradc.strategy = "weights-to-tap-sums"} dense<[6, 1, 1]> : tensor<3xi64>
// CHECK-NEXT: %dw_10 = onnx.Reshape %dw_8, %dw_9 : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<6x1x1xf32>
// CHECK-NEXT: func.return %dw_10 : tensor<6x1x1xf32>
