// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @pool(%dy: tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32> {
  %dx = grad.avg_pool_backward %dy {kernel = [3, 2], strides = [2, 2], dilations = [1, 1], pads_begin = [1, 0], pads_end = [1, 0], residue = [0, 0], layout = "NCX"} : (tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32>
  func.return %dx : tensor<2x4x9x8xf32>
}
// CHECK-LABEL: func.func @pool(
// CHECK-NEXT: %dx = grad.avg_pool_backward %dy {kernel = [3, 2], strides = [2, 2], dilations = [1, 1], pads_begin = [1, 0], pads_end = [1, 0], residue = [0, 0], layout = "NCX"} : (tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32>
// CHECK-NEXT: func.return %dx : tensor<2x4x9x8xf32>

// Words in any case; a size that only run time knows.
func.func @words(%dy: tensor<?x?x3xbf16>) -> tensor<?x?x3xbf16> {
  %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [2], pads_begin = [1], pads_end = [0], residue = [1], layout = "nxc"} : (tensor<?x?x3xbf16>) -> tensor<?x?x3xbf16>
  func.return %dx : tensor<?x?x3xbf16>
}
// CHECK-LABEL: func.func @words(
// CHECK-NEXT: %dx = grad.avg_pool_backward %dy {kernel = [3], strides = [2], dilations = [2], pads_begin = [1], pads_end = [0], residue = [1], layout = "NXC"} : (tensor<?x?x3xbf16>) -> tensor<?x?x3xbf16>
// CHECK-NEXT: func.return %dx : tensor<?x?x3xbf16>
