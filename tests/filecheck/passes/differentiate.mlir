// RUN: gradc-opt %s -p differentiate{reduce=mean},simplify | filecheck %s

// A bias is summed over the batch, a weight has one product, and Tanh is read by its result. What only
// sizes are made of has no gradient.
func.func @main(%x: tensor<?x4xf32, ["N", ""]>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<?xf32> {
  %h = onnx.MatMul %x, %w : (tensor<?x4xf32, ["N", ""]>, tensor<4x3xf32>) -> tensor<?x3xf32, ["N", ""]>
  %s = onnx.Add %h, %b : (tensor<?x3xf32, ["N", ""]>, tensor<3xf32>) -> tensor<?x3xf32, ["N", ""]>
  %t = onnx.Tanh %s : (tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
  %shape = onnx.Shape %t : (tensor<?x3xf32, ["N", ""]>) -> tensor<2xi64>
  %count = onnx.ReduceProd %shape {keepdims = 1} : (tensor<2xi64>) -> tensor<1xi64>
  %y = onnx.Reshape %t, %count : (tensor<?x3xf32, ["N", ""]>, tensor<1xi64>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %h = onnx.MatMul %x, %w : (tensor<?x4xf32, ["N", ""]>, tensor<4x3xf32>) -> tensor<?x3xf32, ["N", ""]>
// CHECK-NEXT: %s = onnx.Add %h, %b : (tensor<?x3xf32, ["N", ""]>, tensor<3xf32>) -> tensor<?x3xf32, ["N", ""]>
// CHECK-NEXT: %t = onnx.Tanh %s : (tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
// CHECK-NEXT: %shape = onnx.Shape %t : (tensor<?x3xf32, ["N", ""]>) -> tensor<2xi64>
// CHECK-NEXT: %count = onnx.ReduceProd %shape {keepdims = 1} : (tensor<2xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y = onnx.Reshape %t, %count : (tensor<?x3xf32, ["N", ""]>, tensor<1xi64>) -> tensor<?xf32, ["=?1"]>
// CHECK-NEXT: %0 = onnx.Size %y : (tensor<?xf32, ["=?1"]>) -> tensor<i64>
// CHECK-NEXT: %1 = onnx.Cast %0 {to = f32} : (tensor<i64>) -> tensor<f32>
// CHECK-NEXT: %2 = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = onnx.Div %2, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %4 = onnx.Shape %y : (tensor<?xf32, ["=?1"]>) -> tensor<1xi64>
// CHECK-NEXT: %5 = onnx.Expand %3, %4 : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32, ["=?1"]>
// CHECK-NEXT: %6 = onnx.Constant dense<[-1, 3]> : tensor<2xi64>
// CHECK-NEXT: %7 = onnx.Reshape %5, %6 : (tensor<?xf32, ["=?1"]>, tensor<2xi64>) -> tensor<?x3xf32, ["N", ""]>
// CHECK-NEXT: %8 = onnx.Mul %t, %t : (tensor<?x3xf32, ["N", ""]>, tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
// CHECK-NEXT: %9 = onnx.Sub %2, %8 : (tensor<f32>, tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
// CHECK-NEXT: %10 = onnx.Mul %7, %9 : (tensor<?x3xf32, ["N", ""]>, tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
// CHECK-NEXT: %11 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %12 = onnx.ReduceSum %10, %11 {keepdims = 0, gradc.sum = unit} : (tensor<?x3xf32, ["N", ""]>, tensor<1xi64>) -> tensor<3xf32>
// CHECK-NEXT: %13 = onnx.Transpose %w {perm = [1, 0]} : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %14 = onnx.MatMul %10, %13 : (tensor<?x3xf32, ["N", ""]>, tensor<3x4xf32>) -> tensor<?x4xf32, ["N", ""]>
// CHECK-NEXT: %15 = onnx.Transpose %x {perm = [1, 0]} : (tensor<?x4xf32, ["N", ""]>) -> tensor<4x?xf32, ["", "N"]>
// CHECK-NEXT: %16 = onnx.MatMul %15, %10 : (tensor<4x?xf32, ["", "N"]>, tensor<?x3xf32, ["N", ""]>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %14, %16, %12 : tensor<?x4xf32, ["N", ""]>, tensor<4x3xf32>, tensor<3xf32>
