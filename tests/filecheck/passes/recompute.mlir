// RUN: gradc-opt %s -p 'recompute{batch="x" results="loss"}' | filecheck %s

// An exponential of the forward pass is computed a second time, from a value that waits for the gradient.
// CHECK-COUNT-8: onnx.Exp
// CHECK: %loss = onnx.ReduceSum
// CHECK: onnx.Where
// CHECK: onnx.Exp
func.func @main(%x: tensor<64x64xf32>) -> (tensor<1x1xf32>, tensor<64x64xf32>) {
  %a = onnx.Exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = onnx.Exp %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = onnx.Exp %b : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = onnx.Exp %c : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = onnx.Exp %d : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = onnx.Exp %e : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = onnx.Exp %f : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = onnx.Exp %g : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %loss = onnx.ReduceSum %h : (tensor<64x64xf32>) -> tensor<1x1xf32>
  %g0 = onnx.Mul %h, %h : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g1 = onnx.Mul %g0, %g : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g2 = onnx.Mul %g1, %f : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g3 = onnx.Mul %g2, %e : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g4 = onnx.Mul %g3, %d : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g5 = onnx.Mul %g4, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g6 = onnx.Mul %g5, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g7 = onnx.Mul %g6, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %loss, %g7 : tensor<1x1xf32>, tensor<64x64xf32>
}
