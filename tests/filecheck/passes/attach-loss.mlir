// RUN: not gradc-opt %s -p attach-loss 2>&1 | filecheck %s

// CHECK: loss: given none, expected one or more
func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  func.return %x : tensor<4x3xf32>
}
