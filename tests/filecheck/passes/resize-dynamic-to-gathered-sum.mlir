// RUN: gradc-opt %s -p 'resize-dynamic-to-gathered-sum{strict_ieee=true},simplify' | filecheck %s
// RUN: gradc-opt %s -p resize-dynamic-to-gathered-sum | filecheck %s --check-prefix=LOOSE

// The tables of positions and weights are computed from the matrix; what no position reads is row Y, zeros.
func.func @nearest(%dy: tensor<1x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [1], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?xf32>
  func.return %dx : tensor<1x?xf32>
}
// LOOSE-LABEL: func.func @nearest(
// LOOSE-NEXT: %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [1], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?xf32>
// LOOSE-NEXT: func.return %dx : tensor<1x?xf32>
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-gathered-sum"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1x?xf32>) -> tensor<2xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-dynamic-to-gathered-sum"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-dynamic-to-gathered-sum"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-dynamic-to-gathered-sum"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_6 = onnx.Squeeze %dx_3, %dx {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_7 = onnx.Range %dx_4, %dx_6, %dx_5 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_8 = onnx.Mul %dx_7, %n {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %x, %dx {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_4, %dx_9, %dx_5 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Unsqueeze %dx_10, %dx {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_12 = onnx.Sub %x, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Div %dx_8, %q {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_14 = onnx.Max %dx_13, %dx {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_15 = onnx.Min %dx_14, %dx_12 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Unsqueeze %dx_15, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_17 = onnx.Equal %dx_16, %dx_11 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_18 = onnx.Cast %dx_17 {to = f32, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_19 = onnx.Cast %dx_17 {to = i64, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi1>) -> tensor<?x?xi64>
// CHECK-NEXT: %dx_20 = onnx.ReduceSum %dx_19, %dx {keepdims = 0, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_21 = onnx.Unsqueeze %dx_7, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_22 = onnx.Mul %dx_19, %dx_21 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi64>, tensor<?x1xi64>) -> tensor<?x?xi64>
// CHECK-NEXT: %dx_23 = onnx.ReduceSum %dx_22, %dx {keepdims = 0, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_24 = onnx.Sub %dx_20, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_25 = onnx.Mul %dx_20, %dx_24 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_26 = onnx.Constant {gradc.strategy = "resize-dynamic-to-gathered-sum"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_27 = onnx.Div %dx_25, %dx_26 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_28 = onnx.Sub %dx_23, %dx_27 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_29 = onnx.Max %dx_20, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_30 = onnx.Div %dx_28, %dx_29 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_31 = onnx.Unsqueeze %dx_30, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_32 = onnx.Unsqueeze %dx_20, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_33 = onnx.Less %dx_7, %dx_32 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_34 = onnx.Cast %dx_33 {to = i64, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi1>) -> tensor<?x?xi64>
// CHECK-NEXT: %dx_35 = onnx.ReduceSum %dx_34, %dx {keepdims = 0, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_36 = onnx.Min %dx_35, %dx_2 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_37 = onnx.ReduceSum %dx_36, %dx {keepdims = 1, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_38 = onnx.Squeeze %dx_37, %dx {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_39 = onnx.Range %dx_4, %dx_38, %dx_5 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_40 = onnx.Less %dx_39, %dx_32 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_41 = onnx.Add %dx_31, %dx_39 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x1xi64>, tensor<?xi64>) -> tensor<?x?xi64>
// CHECK-NEXT: %dx_42 = onnx.Where %dx_40, %dx_41, %dx_3 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xi1>, tensor<?x?xi64>, tensor<1xi64>) -> tensor<?x?xi64>
// CHECK-NEXT: %dx_43 = onnx.Transpose %dx_18 {perm = [1, 0], gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_44 = onnx.Constant {gradc.strategy = "resize-dynamic-to-gathered-sum"} dense<[0, 0, 0, 1]> : tensor<4xi64>
// CHECK-NEXT: %dx_45 = onnx.Pad %dx_43, %dx_44 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xf32>, tensor<4xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_46 = onnx.GatherElements %dx_45, %dx_42 {axis = 1, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<?x?xf32>, tensor<?x?xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_47 = onnx.Pad %dy, %dx_44 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1x?xf32>, tensor<4xi64>) -> tensor<1x?xf32>
// CHECK-NEXT: %dx_48 = onnx.Gather %dx_47, %dx_42 {axis = 1, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1x?xf32>, tensor<?x?xi64>) -> tensor<1x?x?xf32>
// CHECK-NEXT: %dx_49 = onnx.Mul %dx_48, %dx_46 {gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1x?x?xf32>, tensor<?x?xf32>) -> tensor<1x?x?xf32>
// CHECK-NEXT: %dx_50 = onnx.ReduceSum %dx_49, %dx_26 {keepdims = 0, gradc.strategy = "resize-dynamic-to-gathered-sum"} : (tensor<1x?x?xf32>, tensor<1xi64>) -> tensor<1x?xf32>
// CHECK-NEXT: func.return %dx_50 : tensor<1x?xf32>
