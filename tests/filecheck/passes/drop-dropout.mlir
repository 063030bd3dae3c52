// RUN: gradc-opt %s -p drop-dropout | filecheck %s

func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>) {
  %r = onnx.Constant dense<0.25> : tensor<f32>
  %t = onnx.Constant dense<true> : tensor<i1>
  %y, %m = onnx.Dropout %x, %r, %t : (tensor<2xf32>, tensor<f32>, tensor<i1>) -> (tensor<2xf32>, tensor<2xi1>)
  func.return %y, %m : tensor<2xf32>, tensor<2xi1>
}
// CHECK-LABEL: func.func @main(
// CHECK: onnx.Expand
// CHECK-NOT: onnx.Dropout
// CHECK: func.return %x, %
