// RUN: gradc-opt %s -p scan-outputs | filecheck %s

// A value to which each step appends a row becomes a scan output.
func.func @main(%n: tensor<i64>, %x: tensor<1x2xf32>) -> tensor<?x2xf32> {
  %y = onnx.Loop %n, _, %x body {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<?x2xf32>):
    %w = onnx.Concat %v, %x {axis = 0} : (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>
    onnx.Yield %go, %w : tensor<i1>, tensor<?x2xf32>
  } : (tensor<i64>, tensor<1x2xf32>) -> tensor<?x2xf32>
  func.return %y : tensor<?x2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %0 = onnx.Constant dense<true> : tensor<i1>
// CHECK-NEXT: %1 = onnx.Loop %n, %0 body {
// CHECK-NEXT: ^bb0(%i: tensor<i64>, %go: tensor<i1>):
// CHECK-NEXT: onnx.Yield %go, %x : tensor<i1>, tensor<1x2xf32>
// CHECK-NEXT: } : (tensor<i64>, tensor<i1>) -> tensor<?x1x2xf32>
// CHECK-NEXT: %2 = onnx.Shape %x : (tensor<1x2xf32>) -> tensor<2xi64>
// CHECK-NEXT: %3 = onnx.Shape %1 : (tensor<?x1x2xf32>) -> tensor<3xi64>
// CHECK-NEXT: %4 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %5 = onnx.Gather %3, %4 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %6 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %7 = onnx.Gather %3, %6 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = onnx.Gather %2, %4 {axis = 0} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %9 = onnx.Gather %2, %6 {axis = 0} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %10 = onnx.Mul %5, %7 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %11 = onnx.Concat %10, %9 {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT: %12 = onnx.Reshape %1, %11 {allowzero = 1} : (tensor<?x1x2xf32>, tensor<2xi64>) -> tensor<?x2xf32>
// CHECK-NEXT: %y = onnx.Concat %x, %12 {axis = 0} : (tensor<1x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
// CHECK-NEXT: func.return %y : tensor<?x2xf32>
