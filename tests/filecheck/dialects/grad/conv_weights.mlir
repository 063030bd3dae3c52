// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @weights(%x: tensor<2x4x9x8xf32>, %dy: tensor<2x6x5x4xf32>) -> tensor<6x2x3x2xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3, 2], strides = [2, 2], dilations = [1, 1], pads_begin = [1, 0], pads_end = [1, 0], groups = 2, layout = "NCX"} : (tensor<2x4x9x8xf32>, tensor<2x6x5x4xf32>) -> tensor<6x2x3x2xf32>
  func.return %dw : tensor<6x2x3x2xf32>
}
// CHECK-LABEL: func.func @weights(
// CHECK-NEXT: %dw = grad.conv_backward_weights %x, %dy {kernel = [3, 2], strides = [2, 2], dilations = [1, 1], pads_begin = [1, 0], pads_end = [1, 0], groups = 2, layout = "NCX"} : (tensor<2x4x9x8xf32>, tensor<2x6x5x4xf32>) -> tensor<6x2x3x2xf32>
// CHECK-NEXT: func.return %dw : tensor<6x2x3x2xf32>

func.func @weights_NXC(%x: tensor<?x?x4xf32, ["N", "X", ""]>, %dy: tensor<?x?x6xf32, ["N", "Y", ""]>) -> tensor<6x4x3xf32> {
  %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [2], pads_begin = [1], pads_end = [1], groups = 1, layout = "nxc"} : (tensor<?x?x4xf32, ["N", "X", ""]>, tensor<?x?x6xf32, ["N", "Y", ""]>) -> tensor<6x4x3xf32>
  func.return %dw : tensor<6x4x3xf32>
}
// CHECK-LABEL: func.func @weights_NXC(
// CHECK-NEXT: %dw = grad.conv_backward_weights %x, %dy {kernel = [3], strides = [2], dilations = [2], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<?x?x4xf32, ["N", "X", ""]>, tensor<?x?x6xf32, ["N", "Y", ""]>) -> tensor<6x4x3xf32>
// CHECK-NEXT: func.return %dw : tensor<6x4x3xf32>
