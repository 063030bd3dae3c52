// RUN: gradc-opt %s -p "vectorize{inputs=c size=3}" | filecheck %s

// The product of c gets the axis; what does not depend on c stays as it is.
func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x5xf32>, %c: tensor<2x5xf32>) -> tensor<2x4xf32> {
  %e = onnx.Exp %w : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %t = onnx.Transpose %e {perm = [1, 0]} : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %g = onnx.MatMul %c, %t : (tensor<2x5xf32>, tensor<5x4xf32>) -> tensor<2x4xf32>
  %r = onnx.Mul %g, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %r : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %e = onnx.Exp %w : (tensor<4x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: %t = onnx.Transpose %e {perm = [1, 0]} : (tensor<4x5xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: %g = onnx.MatMul %c, %t : (tensor<3x2x5xf32>, tensor<5x4xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT: %r = onnx.Mul %g, %x : (tensor<3x2x4xf32>, tensor<2x4xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT: func.return %r : tensor<3x2x4xf32>
