// RUN: gradc-opt %s -p normalize-branches | filecheck %s

// The branches have different ranks: the reader moves into each of them.
func.func @main(%c: tensor<i1>, %x: tensor<2x3xf32>) -> tensor<f32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %a = onnx.If %c then_branch {
    %t = onnx.Neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    onnx.Yield %t : tensor<2x3xf32>
  } else_branch {
    %u = onnx.Unsqueeze %x, %axes : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<1x2x3xf32>
    onnx.Yield %u : tensor<1x2x3xf32>
  } : (tensor<i1>) -> tensor<*xf32>
  %y = onnx.ReduceSum %a {keepdims = 0} : (tensor<*xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %axes = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %y = onnx.If %c {gradc.declared = [none]} then_branch {
// CHECK-NEXT: %t = onnx.Neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %y_1 = onnx.ReduceSum %t {keepdims = 0} : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: onnx.Yield %y_1 : tensor<f32>
// CHECK-NEXT: } else_branch {
// CHECK-NEXT: %u = onnx.Unsqueeze %x, %axes : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %y_2 = onnx.ReduceSum %u {keepdims = 0} : (tensor<1x2x3xf32>) -> tensor<f32>
// CHECK-NEXT: onnx.Yield %y_2 : tensor<f32>
// CHECK-NEXT: } : (tensor<i1>) -> tensor<f32>
// CHECK-NEXT: func.return %y : tensor<f32>
