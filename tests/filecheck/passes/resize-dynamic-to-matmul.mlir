// RUN: gradc-opt %s -p resize-dynamic-to-matmul,simplify | filecheck %s
// The sequence of the arithmetic; that the numbers are right is a property test's business.

// Row y of the matrix has 1 - f at floor t and f behind it, t = ((2 y + 1) n - q) / 2 q clamped.
func.func @linear_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @linear_half_pixel(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Gather %x, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx_2, %dx_3 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %n, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %q, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %dx_4, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_7, %dx_9, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Add %dx_11, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_14 = onnx.Mul %dx_13, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_15 = onnx.Sub %dx_14, %dx_6 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Mul %dx_6, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Squeeze %dx_1, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_18 = onnx.Range %dx_7, %dx_17, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Unsqueeze %dx_18, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_20 = onnx.Sub %dx_1, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_21 = onnx.Div %dx_15, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_22 = onnx.Max %dx_21, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Min %dx_22, %dx_20 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_24 = onnx.Add %dx_23, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_25 = onnx.Max %dx_24, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_26 = onnx.Min %dx_25, %dx_20 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_27 = onnx.Mul %dx_23, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_28 = onnx.Sub %dx_15, %dx_27 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_29 = onnx.Cast %dx_28 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_30 = onnx.Cast %dx_16 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>) -> tensor<1xf64>
// CHECK-NEXT: %dx_31 = onnx.Div %dx_29, %dx_30 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_32 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_33 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_34 = onnx.Max %dx_31, %dx_32 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_35 = onnx.Min %dx_34, %dx_33 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_36 = onnx.Sub %dx_33, %dx_35 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xf64>, tensor<?xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_37 = onnx.Cast %dx_36 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_38 = onnx.Unsqueeze %dx_37, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_39 = onnx.Unsqueeze %dx_23, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_40 = onnx.Equal %dx_39, %dx_19 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_41 = onnx.Cast %dx_40 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_42 = onnx.Mul %dx_41, %dx_38 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_43 = onnx.Cast %dx_35 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_44 = onnx.Unsqueeze %dx_43, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_45 = onnx.Unsqueeze %dx_26, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_46 = onnx.Equal %dx_45, %dx_19 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_47 = onnx.Cast %dx_46 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_48 = onnx.Mul %dx_47, %dx_44 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_49 = onnx.Add %dx_42, %dx_48 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_50 = onnx.MatMul %dy, %dx_49 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_50 : tensor<1x2x?xf32>

// t = y n / q.
func.func @linear_corner(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @linear_corner(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Gather %x, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx_2, %dx_3 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %n, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %q, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %dx_4, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_7, %dx_9, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Squeeze %dx_1, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_13 = onnx.Range %dx_7, %dx_12, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_14 = onnx.Unsqueeze %dx_13, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_16 = onnx.Sub %dx_1, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Div %dx_11, %dx_6 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_18 = onnx.Max %dx_17, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Min %dx_18, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_20 = onnx.Add %dx_19, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_21 = onnx.Max %dx_20, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_22 = onnx.Min %dx_21, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Mul %dx_19, %dx_6 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_24 = onnx.Sub %dx_11, %dx_23 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_25 = onnx.Cast %dx_24 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_26 = onnx.Cast %dx_6 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>) -> tensor<1xf64>
// CHECK-NEXT: %dx_27 = onnx.Div %dx_25, %dx_26 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_28 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_29 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_30 = onnx.Max %dx_27, %dx_28 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_31 = onnx.Min %dx_30, %dx_29 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_32 = onnx.Sub %dx_29, %dx_31 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xf64>, tensor<?xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_33 = onnx.Cast %dx_32 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_34 = onnx.Unsqueeze %dx_33, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_35 = onnx.Unsqueeze %dx_19, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_36 = onnx.Equal %dx_35, %dx_14 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_37 = onnx.Cast %dx_36 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_38 = onnx.Mul %dx_37, %dx_34 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_39 = onnx.Cast %dx_31 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_40 = onnx.Unsqueeze %dx_39, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_41 = onnx.Unsqueeze %dx_22, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_42 = onnx.Equal %dx_41, %dx_14 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_43 = onnx.Cast %dx_42 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_44 = onnx.Mul %dx_43, %dx_40 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_45 = onnx.Add %dx_38, %dx_44 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_46 = onnx.MatMul %dy, %dx_45 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_46 : tensor<1x2x?xf32>

// floor(t + 1/2).
func.func @nearest_half_up_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_half_up_half_pixel(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Gather %x, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx_2, %dx_3 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %n, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %q, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %dx_4, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_7, %dx_9, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Add %dx_11, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_14 = onnx.Mul %dx_13, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_15 = onnx.Sub %dx_14, %dx_6 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Mul %dx_6, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Squeeze %dx_1, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_18 = onnx.Range %dx_7, %dx_17, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Unsqueeze %dx_18, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_20 = onnx.Sub %dx_1, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_21 = onnx.Mul %dx_15, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_22 = onnx.Add %dx_21, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Mul %dx_16, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_24 = onnx.Div %dx_22, %dx_23 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_25 = onnx.Max %dx_24, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_26 = onnx.Min %dx_25, %dx_20 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_27 = onnx.Unsqueeze %dx_26, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_28 = onnx.Equal %dx_27, %dx_19 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_29 = onnx.Cast %dx_28 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_30 = onnx.MatMul %dy, %dx_29 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_30 : tensor<1x2x?xf32>

// ceil(t - 1/2).
func.func @nearest_half_down_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_half_down", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_half_down_half_pixel(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Gather %x, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx_2, %dx_3 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %n, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %q, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %dx_4, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_7, %dx_9, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Add %dx_11, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_14 = onnx.Mul %dx_13, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_15 = onnx.Sub %dx_14, %dx_6 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Mul %dx_6, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Squeeze %dx_1, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_18 = onnx.Range %dx_7, %dx_17, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Unsqueeze %dx_18, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_20 = onnx.Sub %dx_1, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_21 = onnx.Mul %dx_15, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_22 = onnx.Add %dx_21, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Sub %dx_22, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_24 = onnx.Mul %dx_16, %dx_3 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_25 = onnx.Div %dx_23, %dx_24 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_26 = onnx.Max %dx_25, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_27 = onnx.Min %dx_26, %dx_20 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_28 = onnx.Unsqueeze %dx_27, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_29 = onnx.Equal %dx_28, %dx_19 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_30 = onnx.Cast %dx_29 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_31 = onnx.MatMul %dy, %dx_30 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_31 : tensor<1x2x?xf32>

// floor t.
func.func @nearest_floor_corner(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_floor_corner(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Gather %x, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Gather %dx_2, %dx_3 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %n, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Gather %q, %dx {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %dx_4, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_7, %dx_9, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Squeeze %dx_1, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_13 = onnx.Range %dx_7, %dx_12, %dx_8 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_14 = onnx.Unsqueeze %dx_13, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_16 = onnx.Sub %dx_1, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_17 = onnx.Div %dx_11, %dx_6 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_18 = onnx.Max %dx_17, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Min %dx_18, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_20 = onnx.Unsqueeze %dx_19, %dx_15 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_21 = onnx.Equal %dx_20, %dx_14 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_22 = onnx.Cast %dx_21 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_23 = onnx.MatMul %dy, %dx_22 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_23 : tensor<1x2x?xf32>
