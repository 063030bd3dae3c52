// RUN: gradc-opt %s -p max-pool-to-tiles,simplify | filecheck %s

// Numbers 2 and 1 tell the first of a window; the last place of x is in no window.
func.func @tiles(%x: tensor<1x4x7xf32>, %dy: tensor<1x4x3xf32>) -> tensor<1x4x7xf32> {
  %dx = grad.max_pool_backward %x, %dy {kernel = [2], strides = [2], dilations = [1], pads_begin = [0], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x4x3xf32>) -> tensor<1x4x7xf32>
  func.return %dx : tensor<1x4x7xf32>
}
// CHECK-LABEL: func.func @tiles(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "max-pool-to-tiles"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "max-pool-to-tiles"} dense<6> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "max-pool-to-tiles"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_3 = onnx.Slice %x, %dx, %dx_1, %dx_2 {gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "max-pool-to-tiles"} dense<[[[2.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00]]]> : tensor<1x1x6xf32>
// CHECK-NEXT: %dx_5, %dx_6 = onnx.MaxPool %dx_3 {kernel_shape = [2], strides = [2], gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xi64>)
// CHECK-NEXT: %dx_7 = onnx.Constant {gradc.strategy = "max-pool-to-tiles"} dense<[1.000000e+00, 1.000000e+00, 2.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %dx_8 = onnx.Resize %dx_5, _, %dx_7 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x3xf32>, tensor<3xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_9 = onnx.Equal %dx_3, %dx_8 {gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xi1>
// CHECK-NEXT: %dx_10 = onnx.Cast %dx_9 {to = f32, gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xi1>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_11 = onnx.Mul %dx_10, %dx_4 {gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xf32>, tensor<1x1x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_12, %dx_13 = onnx.MaxPool %dx_11 {kernel_shape = [2], strides = [2], gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xf32>) -> (tensor<1x4x3xf32>, tensor<1x4x3xi64>)
// CHECK-NEXT: %dx_14 = onnx.Resize %dx_12, _, %dx_7 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x3xf32>, tensor<3xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_15 = onnx.Equal %dx_11, %dx_14 {gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xi1>
// CHECK-NEXT: %dx_16 = onnx.Cast %dx_15 {to = f32, gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xi1>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_17 = onnx.Resize %dy, _, %dx_7 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x3xf32>, tensor<3xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_18 = onnx.Mul %dx_16, %dx_17 {gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_19 = onnx.Constant {gradc.strategy = "max-pool-to-tiles"} dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_20 = onnx.Pad %dx_18, %dx_19 {gradc.strategy = "max-pool-to-tiles"} : (tensor<1x4x6xf32>, tensor<6xi64>) -> tensor<1x4x7xf32>
// CHECK-NEXT: func.return %dx_20 : tensor<1x4x7xf32>
