// RUN: gradc-opt %s -p "jacobian{inputs=c like=x results=r}" | filecheck %s

// c becomes the rows of an identity, and r a block of shape [*c, *x].
func.func @main(%x: tensor<2xf32>, %c: tensor<2xf32>) -> (tensor<2xf32> {gradc.name = "r"}) {
  %r = onnx.Mul %c, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %0 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %1 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %2 = onnx.Constant dense<1> : tensor<i64>
// CHECK-NEXT: %3 = onnx.Squeeze %1, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = onnx.Squeeze %0, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = onnx.Range %3, %4, %2 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2xi64>
// CHECK-NEXT: %6 = onnx.Constant dense<1> : tensor<i64>
// CHECK-NEXT: %7 = onnx.Squeeze %1, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %8 = onnx.Squeeze %0, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %9 = onnx.Range %7, %8, %6 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2xi64>
// CHECK-NEXT: %10 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %11 = onnx.Unsqueeze %5, %10 : (tensor<2xi64>, tensor<1xi64>) -> tensor<2x1xi64>
// CHECK-NEXT: %12 = onnx.Unsqueeze %9, %1 : (tensor<2xi64>, tensor<1xi64>) -> tensor<1x2xi64>
// CHECK-NEXT: %13 = onnx.Equal %11, %12 : (tensor<2x1xi64>, tensor<1x2xi64>) -> tensor<2x2xi1>
// CHECK-NEXT: %14 = onnx.Cast %13 {to = f32} : (tensor<2x2xi1>) -> tensor<2x2xf32>
// CHECK-NEXT: %15 = onnx.Concat %0, %0 {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT: %c = onnx.Reshape %14, %15 {allowzero = 1} : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
// CHECK-NEXT: %r = onnx.Mul %c, %x : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %16 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %17 = onnx.Concat %16, %16 {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT: %18 = onnx.Reshape %r, %17 {allowzero = 1} : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return %18 : tensor<2x2xf32>
