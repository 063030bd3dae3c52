// RUN: gradc-opt %s -p lower-aten | filecheck %s

// CHECK: %[[SHAPE:.*]] = onnx.Shape %x
// CHECK: %[[PRODUCT:.*]] = onnx.MatMul %x, %w
// CHECK: onnx.Reshape %[[PRODUCT]]
// CHECK: %[[SIZE:.*]] = onnx.Gather %[[SHAPE]]
// CHECK: onnx.Mul %[[SIZE]]
// CHECK: onnx.Add
func.func @main(%x: tensor<?x4xf32, ["N", ""]>, %w: tensor<4x5xf32>) -> tensor<?xf32, ["=5*N"]> {
  %p = "aten.mm.default"(%x, %w) <{tensors = [array<i64: 1>, array<i64: 1>]}> : (tensor<?x4xf32, ["N", ""]>, tensor<4x5xf32>) -> tensor<?x5xf32, ["N", ""]>
  %v = "aten.view.default"(%p) <{tensors = [array<i64: 1>]}> {size = ["=5*N"]} : (tensor<?x5xf32, ["N", ""]>) -> tensor<?xf32, ["=5*N"]>
  %y = "aten.add.Scalar"(%v) <{tensors = [array<i64: 1>]}> {other = "=2*N", alpha = 1 : i64} : (tensor<?xf32, ["=5*N"]>) -> tensor<?xf32, ["=5*N"]>
  func.return %y : tensor<?xf32, ["=5*N"]>
}
