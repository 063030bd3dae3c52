// RUN: gradc-opt %s -p attach-loss | filecheck %s

// Losses are Python objects: in text the pass has none, and changes nothing.
// CHECK: func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %x
func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  func.return %x : tensor<4x3xf32>
}
