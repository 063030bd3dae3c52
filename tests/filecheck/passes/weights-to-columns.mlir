// RUN: gradc-opt %s -p weights-to-columns,simplify | filecheck %s

// Columns of two taps along the last axis; each row of the kernel reads them from its own place on.
func.func @columns(%x: tensor<1x4x5x6xf32>, %dy: tensor<1x5x4x5xf32>) -> tensor<5x4x2x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2, 2], strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, layout = "NCX"} : (tensor<1x4x5x6xf32>, tensor<1x5x4x5xf32>) -> tensor<5x4x2x2xf32>
  func.return %dw : tensor<5x4x2x2xf32>
}
// CHECK-LABEL: func.func @columns(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_1 = onnx.Unsqueeze %x, %dw {gradc.strategy = "weights-to-columns"} : (tensor<1x4x5x6xf32>, tensor<1xi64>) -> tensor<1x4x1x5x6xf32>
// CHECK-NEXT: %dw_2 = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dw_3 = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<4> : tensor<1xi64>
// CHECK-NEXT: %dw_4 = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_5 = onnx.Constant dense<5> : tensor<1xi64>
// CHECK-NEXT: %dw_6 = onnx.Slice %dw_1, %dw_4, %dw_5, %dw_3 {gradc.strategy = "weights-to-columns"} : (tensor<1x4x1x5x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x1x5x5xf32>
// CHECK-NEXT: %dw_7 = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-NEXT: %dw_8 = onnx.Slice %dw_1, %dw_2, %dw_7, %dw_3 {gradc.strategy = "weights-to-columns"} : (tensor<1x4x1x5x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x1x5x5xf32>
// CHECK-NEXT: %dw_9 = onnx.Concat %dw_6, %dw_8 {axis = 2, gradc.strategy = "weights-to-columns"} : (tensor<1x4x1x5x5xf32>, tensor<1x4x1x5x5xf32>) -> tensor<1x4x2x5x5xf32>
// CHECK-NEXT: %dw_10 = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<3> : tensor<1xi64>
// CHECK-NEXT: %dw_11 = onnx.Slice %dw_9, %dw_4, %dw_3, %dw_10 {gradc.strategy = "weights-to-columns"} : (tensor<1x4x2x5x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x2x4x5xf32>
// CHECK-NEXT: %dw_12 = onnx.Slice %dw_9, %dw_2, %dw_5, %dw_10 {gradc.strategy = "weights-to-columns"} : (tensor<1x4x2x5x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x2x4x5xf32>
// CHECK-NEXT: %dw_13 = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<[5, 20]> : tensor<2xi64>
// CHECK-NEXT: %dw_14 = onnx.Reshape %dy, %dw_13 {gradc.strategy = "weights-to-columns"} : (tensor<1x5x4x5xf32>, tensor<2xi64>) -> tensor<5x20xf32>
// CHECK-NEXT: %dw_15 = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<[8, 20]> : tensor<2xi64>
// CHECK-NEXT: %dw_16 = onnx.Reshape %dw_11, %dw_15 {gradc.strategy = "weights-to-columns"} : (tensor<1x4x2x4x5xf32>, tensor<2xi64>) -> tensor<8x20xf32>
// CHECK-NEXT: %dw_17 = onnx.Gemm %dw_14, %dw_16 {transB = 1, gradc.strategy = "weights-to-columns"} : (tensor<5x20xf32>, tensor<8x20xf32>) -> tensor<5x8xf32>
// CHECK-NEXT: %dw_18 = onnx.Reshape %dw_12, %dw_15 {gradc.strategy = "weights-to-columns"} : (tensor<1x4x2x4x5xf32>, tensor<2xi64>) -> tensor<8x20xf32>
// CHECK-NEXT: %dw_19 = onnx.Gemm %dw_14, %dw_18 {transB = 1, gradc.strategy = "weights-to-columns"} : (tensor<5x20xf32>, tensor<8x20xf32>) -> tensor<5x8xf32>
// CHECK-NEXT: %dw_20 = onnx.Constant {gradc.strategy = "weights-to-columns"} dense<[5, 4, 1, -1]> : tensor<4xi64>
// CHECK-NEXT: %dw_21 = onnx.Reshape %dw_17, %dw_20 {gradc.strategy = "weights-to-columns"} : (tensor<5x8xf32>, tensor<4xi64>) -> tensor<5x4x1x2xf32>
// CHECK-NEXT: %dw_22 = onnx.Reshape %dw_19, %dw_20 {gradc.strategy = "weights-to-columns"} : (tensor<5x8xf32>, tensor<4xi64>) -> tensor<5x4x1x2xf32>
// CHECK-NEXT: %dw_23 = onnx.Concat %dw_21, %dw_22 {axis = 2, gradc.strategy = "weights-to-columns"} : (tensor<5x4x1x2xf32>, tensor<5x4x1x2xf32>) -> tensor<5x4x2x2xf32>
// CHECK-NEXT: func.return %dw_23 : tensor<5x4x2x2xf32>
