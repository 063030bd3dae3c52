// RUN: gradc-opt %s -p weights-to-exact-taps{strict_ieee=true},simplify | filecheck %s

// Window y of a tap k reads data where 0 <= y - 1 + k < X; for any other, diff_dst is 0.
func.func @exact(%x: tensor<1x4x?xf32>, %dy: tensor<1x5x?xf32>) -> tensor<5x4x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [2], strides = [1], dilations = [1], pads_begin = [1], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x4x?xf32>, tensor<1x5x?xf32>) -> tensor<5x4x2xf32>
  func.return %dw : tensor<5x4x2xf32>
}
// CHECK-LABEL: func.func @exact(
// CHECK-NEXT: %dw = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dw_1 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dw_2 = onnx.Constant dense<[0, 0, 1, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dw_3 = onnx.Pad %x, %dw_2 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<6xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %dw_4 = onnx.Shape %dy {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x5x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dw_5 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dw_6 = onnx.Gather %dw_4, %dw_5 {axis = 0, gradc.strategy = "weights-to-exact-taps"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_7 = onnx.Add %dw_1, %dw_6 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_8 = onnx.Slice %dw_3, %dw_1, %dw_7, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %dw_9 = onnx.Add %dw, %dw_6 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_10 = onnx.Slice %dw_3, %dw, %dw_9, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %dw_11 = onnx.Shape %x {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dw_12 = onnx.Gather %dw_11, %dw_5 {axis = 0, gradc.strategy = "weights-to-exact-taps"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_13 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<0> : tensor<i64>
// CHECK-NEXT: %dw_14 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<1> : tensor<i64>
// CHECK-NEXT: %dw_15 = onnx.Squeeze %dw_6, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dw_16 = onnx.Range %dw_13, %dw_15, %dw_14 {gradc.strategy = "weights-to-exact-taps"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_17 = onnx.Sub %dw_16, %dw {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_18 = onnx.Add %dw_17, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_19 = onnx.GreaterOrEqual %dw_18, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_20 = onnx.Less %dw_18, %dw_12 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_21 = onnx.And %dw_19, %dw_20 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
// CHECK-NEXT: %dw_22 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<[1, 1, -1]> : tensor<3xi64>
// CHECK-NEXT: %dw_23 = onnx.Reshape %dw_21, %dw_22 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<3xi64>) -> tensor<1x1x?xi1>
// CHECK-NEXT: %dw_24 = onnx.Add %dw_17, %dw {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_25 = onnx.GreaterOrEqual %dw_24, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_26 = onnx.Less %dw_24, %dw_12 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_27 = onnx.And %dw_25, %dw_26 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
// CHECK-NEXT: %dw_28 = onnx.Reshape %dw_27, %dw_22 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<3xi64>) -> tensor<1x1x?xi1>
// CHECK-NEXT: %dw_29 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dw_30 = onnx.Where %dw_23, %dy, %dw_29 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x1x?xi1>, tensor<1x5x?xf32>, tensor<f32>) -> tensor<1x5x?xf32>
// CHECK-NEXT: %dw_31 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<[5, -1]> : tensor<2xi64>
// CHECK-NEXT: %dw_32 = onnx.Reshape %dw_30, %dw_31 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x5x?xf32>, tensor<2xi64>) -> tensor<5x?xf32>
// CHECK-NEXT: %dw_33 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<[4, -1]> : tensor<2xi64>
// CHECK-NEXT: %dw_34 = onnx.Reshape %dw_8, %dw_33 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<2xi64>) -> tensor<4x?xf32>
// CHECK-NEXT: %dw_35 = onnx.Gemm %dw_32, %dw_34 {transB = 1, gradc.strategy = "weights-to-exact-taps"} : (tensor<5x?xf32>, tensor<4x?xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %dw_36 = onnx.Where %dw_28, %dy, %dw_29 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x1x?xi1>, tensor<1x5x?xf32>, tensor<f32>) -> tensor<1x5x?xf32>
// CHECK-NEXT: %dw_37 = onnx.Reshape %dw_36, %dw_31 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x5x?xf32>, tensor<2xi64>) -> tensor<5x?xf32>
// CHECK-NEXT: %dw_38 = onnx.Reshape %dw_10, %dw_33 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<2xi64>) -> tensor<4x?xf32>
// CHECK-NEXT: %dw_39 = onnx.Gemm %dw_37, %dw_38 {transB = 1, gradc.strategy = "weights-to-exact-taps"} : (tensor<5x?xf32>, tensor<4x?xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %dw_40 = onnx.Unsqueeze %dw_35, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<5x4xf32>, tensor<1xi64>) -> tensor<5x4x1xf32>
// CHECK-NEXT: %dw_41 = onnx.Unsqueeze %dw_39, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<5x4xf32>, tensor<1xi64>) -> tensor<5x4x1xf32>
// CHECK-NEXT: %dw_42 = onnx.Concat %dw_40, %dw_41 {axis = 2, gradc.strategy = "weights-to-exact-taps"} : (tensor<5x4x1xf32>, tensor<5x4x1xf32>) -> tensor<5x4x2xf32>
// CHECK-NEXT: func.return %dw_42 : tensor<5x4x2xf32>
