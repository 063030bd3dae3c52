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
// CHECK-NEXT: %dw_7 = onnx.Mul %dw_6, %dw {gradc.strategy = "weights-to-exact-taps"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_8 = onnx.Add %dw_1, %dw_7 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_9 = onnx.Slice %dw_3, %dw_1, %dw_8, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %dw_10 = onnx.Add %dw, %dw_7 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_11 = onnx.Slice %dw_3, %dw, %dw_10, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %dw_12 = onnx.Shape %x {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dw_13 = onnx.Gather %dw_12, %dw_5 {axis = 0, gradc.strategy = "weights-to-exact-taps"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dw_14 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<0> : tensor<i64>
// CHECK-NEXT: %dw_15 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<1> : tensor<i64>
// CHECK-NEXT: %dw_16 = onnx.Squeeze %dw_6, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dw_17 = onnx.Range %dw_14, %dw_16, %dw_15 {gradc.strategy = "weights-to-exact-taps"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_18 = onnx.Mul %dw_17, %dw {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_19 = onnx.Sub %dw_18, %dw {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_20 = onnx.Add %dw_19, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_21 = onnx.GreaterOrEqual %dw_20, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_22 = onnx.Less %dw_20, %dw_13 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_23 = onnx.And %dw_21, %dw_22 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
// CHECK-NEXT: %dw_24 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<[1, 1, -1]> : tensor<3xi64>
// CHECK-NEXT: %dw_25 = onnx.Reshape %dw_23, %dw_24 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<3xi64>) -> tensor<1x1x?xi1>
// CHECK-NEXT: %dw_26 = onnx.Add %dw_19, %dw {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dw_27 = onnx.GreaterOrEqual %dw_26, %dw_1 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_28 = onnx.Less %dw_26, %dw_13 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi1>
// CHECK-NEXT: %dw_29 = onnx.And %dw_27, %dw_28 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
// CHECK-NEXT: %dw_30 = onnx.Reshape %dw_29, %dw_24 {gradc.strategy = "weights-to-exact-taps"} : (tensor<?xi1>, tensor<3xi64>) -> tensor<1x1x?xi1>
// CHECK-NEXT: %dw_31 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %dw_32 = onnx.Where %dw_25, %dy, %dw_31 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x1x?xi1>, tensor<1x5x?xf32>, tensor<f32>) -> tensor<1x5x?xf32>
// CHECK-NEXT: %dw_33 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<[5, -1]> : tensor<2xi64>
// CHECK-NEXT: %dw_34 = onnx.Reshape %dw_32, %dw_33 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x5x?xf32>, tensor<2xi64>) -> tensor<5x?xf32>
// CHECK-NEXT: %dw_35 = onnx.Constant {gradc.strategy = "weights-to-exact-taps"} dense<[4, -1]> : tensor<2xi64>
// CHECK-NEXT: %dw_36 = onnx.Reshape %dw_9, %dw_35 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<2xi64>) -> tensor<4x?xf32>
// CHECK-NEXT: %dw_37 = onnx.Gemm %dw_34, %dw_36 {transB = 1, gradc.strategy = "weights-to-exact-taps"} : (tensor<5x?xf32>, tensor<4x?xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %dw_38 = onnx.Where %dw_30, %dy, %dw_31 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x1x?xi1>, tensor<1x5x?xf32>, tensor<f32>) -> tensor<1x5x?xf32>
// CHECK-NEXT: %dw_39 = onnx.Reshape %dw_38, %dw_33 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x5x?xf32>, tensor<2xi64>) -> tensor<5x?xf32>
// CHECK-NEXT: %dw_40 = onnx.Reshape %dw_11, %dw_35 {gradc.strategy = "weights-to-exact-taps"} : (tensor<1x4x?xf32>, tensor<2xi64>) -> tensor<4x?xf32>
// CHECK-NEXT: %dw_41 = onnx.Gemm %dw_39, %dw_40 {transB = 1, gradc.strategy = "weights-to-exact-taps"} : (tensor<5x?xf32>, tensor<4x?xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %dw_42 = onnx.Unsqueeze %dw_37, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<5x4xf32>, tensor<1xi64>) -> tensor<5x4x1xf32>
// CHECK-NEXT: %dw_43 = onnx.Unsqueeze %dw_41, %dw_5 {gradc.strategy = "weights-to-exact-taps"} : (tensor<5x4xf32>, tensor<1xi64>) -> tensor<5x4x1xf32>
// CHECK-NEXT: %dw_44 = onnx.Concat %dw_42, %dw_43 {axis = 2, gradc.strategy = "weights-to-exact-taps"} : (tensor<5x4x1xf32>, tensor<5x4x1xf32>) -> tensor<5x4x2xf32>
// CHECK-NEXT: func.return %dw_44 : tensor<5x4x2xf32>
