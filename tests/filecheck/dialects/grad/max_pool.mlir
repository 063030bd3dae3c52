// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @pool(%x: tensor<2x4x9x8xf32>, %dy: tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32> {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3, 2], strides = [2, 2], dilations = [1, 1], pads_begin = [1, 0], layout = "NCX"} : (tensor<2x4x9x8xf32>, tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32>
  func.return %dx : tensor<2x4x9x8xf32>
}
// CHECK-LABEL: func.func @pool(
// CHECK-NEXT: %dx = grad.max_pool_backward %x, %dy {kernel = [3, 2], strides = [2, 2], dilations = [1, 1], pads_begin = [1, 0], layout = "NCX"} : (tensor<2x4x9x8xf32>, tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32>
// CHECK-NEXT: func.return %dx : tensor<2x4x9x8xf32>

func.func @pool_NXC(%x: tensor<?x?x4xf32, ["N", "X", ""]>, %dy: tensor<?x?x4xf32, ["N", "Y", ""]>) -> tensor<?x?x4xf32, ["N", "X", ""]> {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [2], pads_begin = [1], layout = "nxc"} : (tensor<?x?x4xf32, ["N", "X", ""]>, tensor<?x?x4xf32, ["N", "Y", ""]>) -> tensor<?x?x4xf32, ["N", "X", ""]>
  func.return %dx : tensor<?x?x4xf32, ["N", "X", ""]>
}
// CHECK-LABEL: func.func @pool_NXC(
// CHECK-NEXT: %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [2], pads_begin = [1], layout = "NXC"} : (tensor<?x?x4xf32, ["N", "X", ""]>, tensor<?x?x4xf32, ["N", "Y", ""]>) -> tensor<?x?x4xf32, ["N", "X", ""]>
// CHECK-NEXT: func.return %dx : tensor<?x?x4xf32, ["N", "X", ""]>
