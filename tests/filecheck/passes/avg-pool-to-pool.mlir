// RUN: gradc-opt %s -p avg-pool-to-pool,simplify | filecheck %s

// Of a window of three places with one of padding before, two windows lie before the first place.
func.func @mean(%dy: tensor<1x4x3xf32>) -> tensor<1x4x4xf32> {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [1], dilations = [1], pads_begin = [1], pads_end = [0], residue = [0], layout = "NCX"} : (tensor<1x4x3xf32>) -> tensor<1x4x4xf32>
  func.return %dx : tensor<1x4x4xf32>
}
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %dx = onnx.AveragePool %dy {kernel_shape = [3], count_include_pad = 1, pads = [1, 2], gradc.strategy = "avg-pool-to-pool"} : (tensor<1x4x3xf32>) -> tensor<1x4x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x4x4xf32>
