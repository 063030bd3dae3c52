// RUN: gradc-opt %s -p "stop-gradient{values=h,x}" | filecheck %s

// All readers of h and x read what is behind the stop.
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %h = onnx.Exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %y = onnx.Mul %x, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y, %h : tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %x_1 = grad.stop_gradient %x {gradc.stopped = "x"} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %h = onnx.Exp %x_1 : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %h_1 = grad.stop_gradient %h {gradc.stopped = "h"} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %y = onnx.Mul %x_1, %h_1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y, %h_1 : tensor<2xf32>, tensor<2xf32>
