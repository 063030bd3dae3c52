// RUN: gradc-opt %s -p normalize-loops | filecheck %s

// The body declares no rank; the initial value has one that each step keeps.
func.func @main(%n: tensor<i64>, %x: tensor<2xf32>) -> tensor<*xf32> {
  %y = onnx.Loop %n, _, %x body {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<*xf32>):
    %w = onnx.Add %v, %x : (tensor<*xf32>, tensor<2xf32>) -> tensor<*xf32>
    onnx.Yield %go, %w : tensor<i1>, tensor<*xf32>
  } : (tensor<i64>, tensor<2xf32>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %y = onnx.Loop %n, _, %x body {
// CHECK-NEXT: ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2xf32>):
// CHECK-NEXT: %w = onnx.Add %v, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: onnx.Yield %go, %w : tensor<i1>, tensor<2xf32>
// CHECK-NEXT: } : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y : tensor<2xf32>
