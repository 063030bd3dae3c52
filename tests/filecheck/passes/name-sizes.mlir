// RUN: gradc-opt %s -p name-sizes | filecheck %s

// One symbol for each value and dim of which nothing is known; ops know of those of their operands.
func.func @chain(%x: tensor<?x4x?xf32>, %i: tensor<?xi64>) -> tensor<?x?x?xf32> {
  %r = onnx.Relu %x : (tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
  %y = onnx.Gather %r, %i {axis = 1} : (tensor<?x4x?xf32>, tensor<?xi64>) -> tensor<?x?x?xf32>
  %z = onnx.Concat %y, %y {axis = 1} : (tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  func.return %z : tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %r = onnx.Relu %x : (tensor<?x4x?xf32, ["=?1", "", "=?2"]>) -> tensor<?x4x?xf32, ["=?1", "", "=?2"]>
// CHECK-NEXT: %y = onnx.Gather %r, %i {axis = 1} : (tensor<?x4x?xf32, ["=?1", "", "=?2"]>, tensor<?xi64, ["=?3"]>) -> tensor<?x?x?xf32, ["=?1", "=?3", "=?2"]>
// CHECK-NEXT: %z = onnx.Concat %y, %y {axis = 1} : (tensor<?x?x?xf32, ["=?1", "=?3", "=?2"]>, tensor<?x?x?xf32, ["=?1", "=?3", "=?2"]>) -> tensor<?x?x?xf32, ["=?1", "=2*?3", "=?2"]>
// CHECK-NEXT: func.return %z : tensor<?x?x?xf32, ["=?1", "=2*?3", "=?2"]>

// A name stays, and symbols that are there already are not given again.
func.func @more(%x: tensor<?x?xf32, ["N", ""]>, %y: tensor<?x2xf32, ["=?5", ""]>) -> tensor<?x?xf32> {
  %a = onnx.Add %x, %y : (tensor<?x?xf32, ["N", ""]>, tensor<?x2xf32, ["=?5", ""]>) -> tensor<?x?xf32>
  func.return %a : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @more(
// CHECK-NEXT: %a = onnx.Add %x, %y : (tensor<?x?xf32, ["N", "=?6"]>, tensor<?x2xf32, ["=?5", ""]>) -> tensor<?x2xf32, ["=?7", ""]>
// CHECK-NEXT: func.return %a : tensor<?x2xf32, ["=?7", ""]>
