// RUN: gradc-opt %s -p erase-stop-gradients | filecheck %s

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %s = grad.stop_gradient %x : (tensor<2xf32>) -> tensor<2xf32>
  %y = onnx.Exp %s : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %y = onnx.Exp %x : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y : tensor<2xf32>
