// RUN: gradc-opt %s -p max-pool-to-axes,simplify | filecheck %s

// The gradient goes to the first of two that is as large as the larger one, else to the second. Windows overlap:
// what they give is added up.
func.func @overlap(%x: tensor<1x4x6xf32>, %dy: tensor<1x4x6xf32>) -> tensor<1x4x6xf32> {
  %dx = grad.max_pool_backward %x, %dy {kernel = [2], strides = [1], dilations = [1], pads_begin = [1], layout = "NCX"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  func.return %dx : tensor<1x4x6xf32>
}
// CHECK-LABEL: func.func @overlap(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<"0x000080FF"> : tensor<f32>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<[0, 0, 1, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_3 = onnx.Pad %x, %dx_2, %dx_1 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xf32>, tensor<6xi64>, tensor<f32>) -> tensor<1x4x7xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Slice %dx_3, %dx_4, %dx_5, %dx_6 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant dense<7> : tensor<1xi64>
// CHECK-NEXT: %dx_9 = onnx.Slice %dx_3, %dx, %dx_8, %dx_6 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_10 = onnx.Max %dx_7, %dx_9 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_11 = onnx.Equal %dx_7, %dx_10 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xi1>
// CHECK-NEXT: %dx_12 = onnx.Cast %dx_11 {to = f32, gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xi1>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_13 = onnx.Mul %dy, %dx_12 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_14 = onnx.Sub %dy, %dx_13 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_15 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_16 = onnx.Pad %dx_13, %dx_15 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xf32>, tensor<6xi64>) -> tensor<1x4x7xf32>
// CHECK-NEXT: %dx_17 = onnx.Pad %dx_14, %dx_2 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x6xf32>, tensor<6xi64>) -> tensor<1x4x7xf32>
// CHECK-NEXT: %dx_18 = onnx.Add %dx_16, %dx_17 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x7xf32>, tensor<1x4x7xf32>) -> tensor<1x4x7xf32>
// CHECK-NEXT: %dx_19 = onnx.Constant dense<[0, 0, -1, 0, 0, 0]> : tensor<6xi64>
// CHECK-NEXT: %dx_20 = onnx.Pad %dx_18, %dx_19 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x4x7xf32>, tensor<6xi64>) -> tensor<1x4x6xf32>
// CHECK-NEXT: func.return %dx_20 : tensor<1x4x6xf32>

// Channels last: windows two apart are blocks of two places.
func.func @blocks(%x: tensor<1x6x4xf32>, %dy: tensor<1x3x4xf32>) -> tensor<1x6x4xf32> {
  %dx = grad.max_pool_backward %x, %dy {kernel = [2], strides = [2], dilations = [1], pads_begin = [0], layout = "NXC"} : (tensor<1x6x4xf32>, tensor<1x3x4xf32>) -> tensor<1x6x4xf32>
  func.return %dx : tensor<1x6x4xf32>
}
// CHECK-LABEL: func.func @blocks(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<[1, 3, 2, 4]> : tensor<4xi64>
// CHECK-NEXT: %dx_2 = onnx.Reshape %x, %dx_1 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x6x4xf32>, tensor<4xi64>) -> tensor<1x3x2x4xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant dense<[3, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<0> : tensor<2xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<[1, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_6 = onnx.Slice %dx_2, %dx_4, %dx_3, %dx_5 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x2x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x3x1x4xf32>
// CHECK-NEXT: %dx_7 = onnx.Squeeze %dx_6, %dx {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x1x4xf32>, tensor<1xi64>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant dense<[3, 2]> : tensor<2xi64>
// CHECK-NEXT: %dx_9 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %dx_10 = onnx.Slice %dx_2, %dx_9, %dx_8, %dx_5 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x2x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x3x1x4xf32>
// CHECK-NEXT: %dx_11 = onnx.Squeeze %dx_10, %dx {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x1x4xf32>, tensor<1xi64>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_12 = onnx.Max %dx_7, %dx_11 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_13 = onnx.Equal %dx_7, %dx_12 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xi1>
// CHECK-NEXT: %dx_14 = onnx.Cast %dx_13 {to = f32, gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x4xi1>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_15 = onnx.Mul %dy, %dx_14 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_16 = onnx.Sub %dy, %dx_15 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: %dx_17 = onnx.Unsqueeze %dx_15, %dx {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<1xi64>) -> tensor<1x3x1x4xf32>
// CHECK-NEXT: %dx_18 = onnx.Unsqueeze %dx_16, %dx {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x4xf32>, tensor<1xi64>) -> tensor<1x3x1x4xf32>
// CHECK-NEXT: %dx_19 = onnx.Concat %dx_17, %dx_18 {axis = 2, gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>) -> tensor<1x3x2x4xf32>
// CHECK-NEXT: %dx_20 = onnx.Constant {gradc.strategy = "max-pool-to-axes"} dense<[1, 6, 4]> : tensor<3xi64>
// CHECK-NEXT: %dx_21 = onnx.Reshape %dx_19, %dx_20 {gradc.strategy = "max-pool-to-axes"} : (tensor<1x3x2x4xf32>, tensor<3xi64>) -> tensor<1x6x4xf32>
// CHECK-NEXT: func.return %dx_21 : tensor<1x6x4xf32>
