// RUN: gradc-opt %s -p avg-pool-to-upsampled-conv,simplify | filecheck %s

// Zeros between the values, and a convolution.
func.func @mean(%dy: tensor<1x2x3xf32>) -> tensor<1x2x7xf32> {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], residue = [1], layout = "NCX"} : (tensor<1x2x3xf32>) -> tensor<1x2x7xf32>
  func.return %dx : tensor<1x2x7xf32>
}
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %dx = onnx.Constant dense<0.333333343> : tensor<2x1x3xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "avg-pool-to-upsampled-conv"} dense<[1.000000e+00, 1.000000e+00, 2.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: %dx_2 = onnx.Resize %dy, _, %dx_1 {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor", gradc.strategy = "avg-pool-to-upsampled-conv"} : (tensor<1x2x3xf32>, tensor<3xf32>) -> tensor<1x2x6xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "avg-pool-to-upsampled-conv"} dense<[1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00, 1.000000e+00, 0.000000e+00]> : tensor<6xf32>
// CHECK-NEXT: %dx_4 = onnx.Mul %dx_2, %dx_3 {gradc.strategy = "avg-pool-to-upsampled-conv"} : (tensor<1x2x6xf32>, tensor<6xf32>) -> tensor<1x2x6xf32>
// CHECK-NEXT: %dx_5 = onnx.Conv %dx_4, %dx {dilations = [1], group = 2, pads = [1, 2], strides = [1], gradc.strategy = "avg-pool-to-upsampled-conv"} : (tensor<1x2x6xf32>, tensor<2x1x3xf32>) -> tensor<1x2x7xf32>
// CHECK-NEXT: func.return %dx_5 : tensor<1x2x7xf32>
