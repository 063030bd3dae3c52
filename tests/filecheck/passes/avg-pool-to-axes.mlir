// RUN: gradc-opt %s -p avg-pool-to-axes,simplify | filecheck %s

// Places 0 and 2 of a window fall on even places, place 1 on odd ones.
func.func @mean(%dy: tensor<1x3x4xf32>) -> tensor<1x7x4xf32> {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], residue = [1], layout = "NXC"} : (tensor<1x3x4xf32>) -> tensor<1x7x4xf32>
  func.return %dx : tensor<1x7x4xf32>
}
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "avg-pool-to-axes"} dense<0.333333343> : tensor<f32>
// CHECK-NEXT: %dx_1 = onnx.Mul %dy, %dx {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<f32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "avg-pool-to-axes"} dense<[0, 0, 0, 0, 1, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_3 = onnx.Pad %dx_1, %dx_2 {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<6xi64>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "avg-pool-to-axes"} dense<[0, 1, 0, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_5 = onnx.Pad %dx_1, %dx_4 {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<6xi64>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_6 = onnx.Add %dx_3, %dx_5 {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "avg-pool-to-axes"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_8 = onnx.Unsqueeze %dx_6, %dx_7 {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x4x4xf32>, tensor<1xi64>) -> tensor<1x4x1x4xf32>
// CHECK-NEXT: %dx_9 = onnx.Unsqueeze %dx_3, %dx_7 {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x4x4xf32>, tensor<1xi64>) -> tensor<1x4x1x4xf32>
// CHECK-NEXT: %dx_10 = onnx.Concat %dx_8, %dx_9 {axis = 2, gradc.strategy = "avg-pool-to-axes"} : (tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x2x4xf32>
// CHECK-NEXT: %dx_11 = onnx.Constant {gradc.strategy = "avg-pool-to-axes"} dense<[1, 8, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_12 = onnx.Reshape %dx_10, %dx_11 {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x4x2x4xf32>, tensor<3xi64>) -> tensor<1x8x4xf32>
// CHECK-NEXT: %dx_13 = onnx.Constant {gradc.strategy = "avg-pool-to-axes"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_14 = onnx.Constant {gradc.strategy = "avg-pool-to-axes"} dense<2147483647> : tensor<1xi64>
// CHECK-NEXT: %dx_15 = onnx.Slice %dx_12, %dx_13, %dx_14, %dx_13 {gradc.strategy = "avg-pool-to-axes"} : (tensor<1x8x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x7x4xf32>
// CHECK-NEXT: func.return %dx_15 : tensor<1x7x4xf32>
