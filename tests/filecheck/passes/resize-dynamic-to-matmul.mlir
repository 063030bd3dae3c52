// RUN: gradc-opt %s -p resize-dynamic-to-matmul,simplify | filecheck %s
// The sequence of the arithmetic; that the numbers are right is a property test's business.

// Row y of the matrix has 1 - f at floor t and f behind it, t = ((2 y + 1) n - q) / 2 q clamped.
func.func @linear_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @linear_half_pixel(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_6 = onnx.Squeeze %dx_3, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_7 = onnx.Range %dx_4, %dx_6, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_8 = onnx.Mul %dx_7, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Add %dx_8, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %n {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Sub %dx_11, %q {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_13 = onnx.Mul %q, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Squeeze %x, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_15 = onnx.Range %dx_4, %dx_14, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Unsqueeze %dx_15, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_17 = onnx.Sub %x, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_18 = onnx.Div %dx_12, %dx_13 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Max %dx_18, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_20 = onnx.Min %dx_19, %dx_17 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_21 = onnx.Add %dx_20, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_22 = onnx.Max %dx_21, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Min %dx_22, %dx_17 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_24 = onnx.Mul %dx_20, %dx_13 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_25 = onnx.Sub %dx_12, %dx_24 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_26 = onnx.Sub %dx_13, %dx_25 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_27 = onnx.Cast %dx_26 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_28 = onnx.Cast %dx_13 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>) -> tensor<1xf64>
// CHECK-NEXT: %dx_29 = onnx.Div %dx_27, %dx_28 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_30 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_31 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_32 = onnx.Max %dx_29, %dx_30 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_33 = onnx.Min %dx_32, %dx_31 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_34 = onnx.Cast %dx_33 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_35 = onnx.Unsqueeze %dx_34, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_36 = onnx.Unsqueeze %dx_20, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_37 = onnx.Equal %dx_36, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_38 = onnx.Cast %dx_37 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_39 = onnx.Mul %dx_38, %dx_35 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_40 = onnx.Cast %dx_25 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_41 = onnx.Div %dx_40, %dx_28 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_42 = onnx.Max %dx_41, %dx_30 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_43 = onnx.Min %dx_42, %dx_31 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_44 = onnx.Cast %dx_43 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_45 = onnx.Unsqueeze %dx_44, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_46 = onnx.Unsqueeze %dx_23, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_47 = onnx.Equal %dx_46, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_48 = onnx.Cast %dx_47 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_49 = onnx.Mul %dx_48, %dx_45 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_50 = onnx.Add %dx_39, %dx_49 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_51 = onnx.MatMul %dy, %dx_50 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_51 : tensor<1x2x?xf32>

// t = y n / q.
func.func @linear_corner(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @linear_corner(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_6 = onnx.Squeeze %dx_3, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_7 = onnx.Range %dx_4, %dx_6, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_8 = onnx.Mul %dx_7, %n {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %x, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_4, %dx_9, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Unsqueeze %dx_10, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Sub %x, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Div %dx_8, %q {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_15 = onnx.Max %dx_14, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Min %dx_15, %dx_13 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_17 = onnx.Add %dx_16, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_18 = onnx.Max %dx_17, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Min %dx_18, %dx_13 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_20 = onnx.Mul %dx_16, %q {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_21 = onnx.Sub %dx_8, %dx_20 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_22 = onnx.Sub %q, %dx_21 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<?xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Cast %dx_22 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_24 = onnx.Cast %q {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>) -> tensor<1xf64>
// CHECK-NEXT: %dx_25 = onnx.Div %dx_23, %dx_24 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_26 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_27 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1.000000e+00> : tensor<1xf64>
// CHECK-NEXT: %dx_28 = onnx.Max %dx_25, %dx_26 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_29 = onnx.Min %dx_28, %dx_27 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_30 = onnx.Cast %dx_29 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_31 = onnx.Unsqueeze %dx_30, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_32 = onnx.Unsqueeze %dx_16, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_33 = onnx.Equal %dx_32, %dx_11 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_34 = onnx.Cast %dx_33 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_35 = onnx.Mul %dx_34, %dx_31 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_36 = onnx.Cast %dx_21 {to = f64, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_37 = onnx.Div %dx_36, %dx_24 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_38 = onnx.Max %dx_37, %dx_26 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_39 = onnx.Min %dx_38, %dx_27 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>, tensor<1xf64>) -> tensor<?xf64>
// CHECK-NEXT: %dx_40 = onnx.Cast %dx_39 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf64>) -> tensor<?xf32>
// CHECK-NEXT: %dx_41 = onnx.Unsqueeze %dx_40, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT: %dx_42 = onnx.Unsqueeze %dx_19, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_43 = onnx.Equal %dx_42, %dx_11 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_44 = onnx.Cast %dx_43 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_45 = onnx.Mul %dx_44, %dx_41 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_46 = onnx.Add %dx_35, %dx_45 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_47 = onnx.MatMul %dy, %dx_46 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_47 : tensor<1x2x?xf32>

// floor(t + 1/2).
func.func @nearest_half_up_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_half_up_half_pixel(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_6 = onnx.Squeeze %dx_3, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_7 = onnx.Range %dx_4, %dx_6, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_8 = onnx.Mul %dx_7, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Add %dx_8, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %n {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Sub %dx_11, %q {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_13 = onnx.Mul %q, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Squeeze %x, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_15 = onnx.Range %dx_4, %dx_14, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Unsqueeze %dx_15, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_17 = onnx.Sub %x, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_18 = onnx.Mul %dx_12, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Add %dx_18, %dx_13 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_20 = onnx.Mul %dx_13, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_21 = onnx.Div %dx_19, %dx_20 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_22 = onnx.Max %dx_21, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Min %dx_22, %dx_17 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_24 = onnx.Unsqueeze %dx_23, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_25 = onnx.Equal %dx_24, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_26 = onnx.Cast %dx_25 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_27 = onnx.MatMul %dy, %dx_26 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_27 : tensor<1x2x?xf32>

// ceil(t - 1/2).
func.func @nearest_half_down_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_half_down", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_half_down_half_pixel(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_6 = onnx.Squeeze %dx_3, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_7 = onnx.Range %dx_4, %dx_6, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_8 = onnx.Mul %dx_7, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_10 = onnx.Add %dx_8, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %n {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_12 = onnx.Sub %dx_11, %q {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_13 = onnx.Mul %q, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Squeeze %x, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_15 = onnx.Range %dx_4, %dx_14, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Unsqueeze %dx_15, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_17 = onnx.Sub %x, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_18 = onnx.Mul %dx_12, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_19 = onnx.Add %dx_18, %dx_13 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_20 = onnx.Sub %dx_19, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_21 = onnx.Mul %dx_13, %dx_2 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_22 = onnx.Div %dx_20, %dx_21 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_23 = onnx.Max %dx_22, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_24 = onnx.Min %dx_23, %dx_17 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_25 = onnx.Unsqueeze %dx_24, %dx_9 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_26 = onnx.Equal %dx_25, %dx_16 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_27 = onnx.Cast %dx_26 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_28 = onnx.MatMul %dy, %dx_27 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_28 : tensor<1x2x?xf32>

// floor t.
func.func @nearest_floor_corner(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_floor_corner(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Shape %dy {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Gather %dx_1, %dx_2 {axis = 0, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<0> : tensor<i64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<i64>
// CHECK-NEXT: %dx_6 = onnx.Squeeze %dx_3, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_7 = onnx.Range %dx_4, %dx_6, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_8 = onnx.Mul %dx_7, %n {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_9 = onnx.Squeeze %x, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %dx_10 = onnx.Range %dx_4, %dx_9, %dx_5 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_11 = onnx.Unsqueeze %dx_10, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1x?xi64>
// CHECK-NEXT: %dx_12 = onnx.Constant {gradc.strategy = "resize-dynamic-to-matmul"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_13 = onnx.Sub %x, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Div %dx_8, %q {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_15 = onnx.Max %dx_14, %dx {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_16 = onnx.Min %dx_15, %dx_13 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
// CHECK-NEXT: %dx_17 = onnx.Unsqueeze %dx_16, %dx_12 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
// CHECK-NEXT: %dx_18 = onnx.Equal %dx_17, %dx_11 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi1>
// CHECK-NEXT: %dx_19 = onnx.Cast %dx_18 {to = f32, gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<?x?xi1>) -> tensor<?x?xf32>
// CHECK-NEXT: %dx_20 = onnx.MatMul %dy, %dx_19 {gradc.strategy = "resize-dynamic-to-matmul"} : (tensor<1x2x?xf32>, tensor<?x?xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx_20 : tensor<1x2x?xf32>
