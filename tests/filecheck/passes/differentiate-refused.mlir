// RUN: not gradc-opt %s -p differentiate{reduce=sum} 2>&1 | filecheck %s

// All ops on the way that have no derivative are told at once, each kind with its reason.
func.func @main(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %d = onnx.Det %x : (tensor<9x9xf32>) -> tensor<f32>
  %e = onnx.Exp %x : (tensor<9x9xf32>) -> tensor<9x9xf32>
  %f = onnx.Det %e : (tensor<9x9xf32>) -> tensor<f32>
  %s = onnx.Einsum %e {equation = "ij->ii"} : (tensor<9x9xf32>) -> tensor<9x9xf32>
  %g = onnx.Add %d, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = onnx.Mul %s, %g : (tensor<9x9xf32>, tensor<f32>) -> tensor<9x9xf32>
  func.return %y : tensor<9x9xf32>
}
// CHECK: differentiate-refused.mlir:8:3: error: [onnx.Einsum "s"] no derivative: equation: given ij->ii, expected no label twice in the result
// CHECK: differentiate-refused.mlir:5:3: error: no derivative of 2 onnx.Det (5:3 and 7:3): size of the matrices: given 9, expected at most 8
