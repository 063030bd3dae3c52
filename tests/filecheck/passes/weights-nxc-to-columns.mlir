// RUN: gradc-opt %s -p weights-nxc-to-columns,simplify | filecheck %s

// Channels-last data stays as it is: the product transposes, and only the weights are turned.
func.func @columns(%x: tensor<2x5x6x4xf32>, %dy: tensor<2x4x5x3xf32>) -> tensor<3x4x2x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2, 2], strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, layout = "NXC"} : (tensor<2x5x6x4xf32>, tensor<2x4x5x3xf32>) -> tensor<3x4x2x2xf32>
  func.return %dw : tensor<3x4x2x2xf32>
}
// CHECK-LABEL: func.func @columns(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-nxc-to-columns"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dw_1 = onnx.Constant {gradc.strategy = "weights-nxc-to-columns"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_2 = onnx.Constant {gradc.strategy = "weights-nxc-to-columns"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_3 = onnx.Constant dense<5> : tensor<1xi64>
// CHECK-NEXT: %dw_4 = onnx.Slice %x, %dw_2, %dw_3, %dw_1 {gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x5x6x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x5x5x4xf32>
// CHECK-NEXT: %dw_5 = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-NEXT: %dw_6 = onnx.Slice %x, %dw, %dw_5, %dw_1 {gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x5x6x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x5x5x4xf32>
// CHECK-NEXT: %dw_7 = onnx.Concat %dw_4, %dw_6 {axis = 3, gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x5x5x4xf32>, tensor<2x5x5x4xf32>) -> tensor<2x5x5x8xf32>
// CHECK-NEXT: %dw_8 = onnx.Constant {gradc.strategy = "weights-nxc-to-columns"} dense<[40, 3]> : tensor<2xi64>
// CHECK-NEXT: %dw_9 = onnx.Reshape %dy, %dw_8 {gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x4x5x3xf32>, tensor<2xi64>) -> tensor<40x3xf32>
// CHECK-NEXT: %dw_10 = onnx.Constant dense<4> : tensor<1xi64>
// CHECK-NEXT: %dw_11 = onnx.Slice %dw_7, %dw_2, %dw_10, %dw {gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x5x5x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x4x5x8xf32>
// CHECK-NEXT: %dw_12 = onnx.Slice %dw_7, %dw, %dw_3, %dw {gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x5x5x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x4x5x8xf32>
// CHECK-NEXT: %dw_13 = onnx.Constant {gradc.strategy = "weights-nxc-to-columns"} dense<[40, 8]> : tensor<2xi64>
// CHECK-NEXT: %dw_14 = onnx.Reshape %dw_11, %dw_13 {gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x4x5x8xf32>, tensor<2xi64>) -> tensor<40x8xf32>
// CHECK-NEXT: %dw_15 = onnx.Reshape %dw_12, %dw_13 {gradc.strategy = "weights-nxc-to-columns"} : (tensor<2x4x5x8xf32>, tensor<2xi64>) -> tensor<40x8xf32>
// CHECK-NEXT: %dw_16 = onnx.Gemm %dw_9, %dw_14 {transA = 1, gradc.strategy = "weights-nxc-to-columns"} : (tensor<40x3xf32>, tensor<40x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %dw_17 = onnx.Gemm %dw_9, %dw_15 {transA = 1, gradc.strategy = "weights-nxc-to-columns"} : (tensor<40x3xf32>, tensor<40x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: %dw_18 = onnx.Concat %dw_16, %dw_17 {axis = 1, gradc.strategy = "weights-nxc-to-columns"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x16xf32>
// CHECK-NEXT: %dw_19 = onnx.Constant {gradc.strategy = "weights-nxc-to-columns"} dense<[3, 2, 2, 4]> : tensor<4xi64>
// CHECK-NEXT: %dw_20 = onnx.Reshape %dw_18, %dw_19 {gradc.strategy = "weights-nxc-to-columns"} : (tensor<3x16xf32>, tensor<4xi64>) -> tensor<3x2x2x4xf32>
// CHECK-NEXT: %dw_21 = onnx.Transpose %dw_20 {perm = [0, 3, 1, 2], gradc.strategy = "weights-nxc-to-columns"} : (tensor<3x2x2x4xf32>) -> tensor<3x4x2x2xf32>
// CHECK-NEXT: func.return %dw_21 : tensor<3x4x2x2xf32>
