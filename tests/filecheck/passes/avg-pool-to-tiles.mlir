// RUN: gradc-opt %s -p avg-pool-to-tiles,simplify | filecheck %s

// The first place of x is in the padding, the last in no window.
func.func @mean(%dy: tensor<1x4x3xf32>) -> tensor<1x4x6xf32> {
  %dx = grad.avg_pool_backward %dy {kernel = [2], strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], residue = [1], layout = "NCX"} : (tensor<1x4x3xf32>) -> tensor<1x4x6xf32>
  func.return %dx : tensor<1x4x6xf32>
}
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "avg-pool-to-tiles"} dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %dx_1 = onnx.Mul %dy, %dx {gradc.strategy = "avg-pool-to-tiles"} : (tensor<1x4x3xf32>, tensor<f32>) -> tensor<1x4x3xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "avg-pool-to-tiles"} dense<[1.000000e+00, 1.000000e+00, 2.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %dx_3 = onnx.Resize %dx_1, _, %dx_2 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "avg-pool-to-tiles"} : (tensor<1x4x3xf32>, tensor<3xf32>) -> tensor<1x4x6xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "avg-pool-to-tiles"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "avg-pool-to-tiles"} dense<2147483647> : tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "avg-pool-to-tiles"} dense<2> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Slice %dx_3, %dx_4, %dx_5, %dx_6 {gradc.strategy = "avg-pool-to-tiles"} : (tensor<1x4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x5xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "avg-pool-to-tiles"} dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_9 = onnx.Pad %dx_7, %dx_8 {gradc.strategy = "avg-pool-to-tiles"} : (tensor<1x4x5xf32>, tensor<6xi64>) -> tensor<1x4x6xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<1x4x6xf32>
