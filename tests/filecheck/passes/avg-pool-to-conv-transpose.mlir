// RUN: gradc-opt %s -p avg-pool-to-conv-transpose,simplify | filecheck %s

// A kernel of thirds for each channel.
func.func @mean(%dy: tensor<1x2x3xf32>) -> tensor<1x2x7xf32> {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [1], pads_end = [0], residue = [1], layout = "NCX"} : (tensor<1x2x3xf32>) -> tensor<1x2x7xf32>
  func.return %dx : tensor<1x2x7xf32>
}
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "avg-pool-to-conv-transpose"} dense<0.333333343> : tensor<2x1x3xf32>
// CHECK-NEXT: %dx_1 = onnx.ConvTranspose %dy, %dx {dilations = [1], group = 2, output_padding = [1], pads = [1, 0], strides = [2], gradc.strategy = "avg-pool-to-conv-transpose"} : (tensor<1x2x3xf32>, tensor<2x1x3xf32>) -> tensor<1x2x7xf32>
// CHECK-NEXT: func.return %dx_1 : tensor<1x2x7xf32>
