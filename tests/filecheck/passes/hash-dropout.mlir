// RUN: gradc-opt %s -p hash-dropout | filecheck %s

// Mask and scale by an input seed; a Dropout of ratio 0 stays.
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %r = onnx.Constant dense<0.25> : tensor<f32>
  %z = onnx.Constant dense<0.0> : tensor<f32>
  %y, %m = onnx.Dropout %x, %r : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xi1>)
  %s, %n = onnx.Dropout %x, %z : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xi1>)
  func.return %y, %s : tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: func.func @main(%x: tensor<2xf32> {gradc.name = "x"}, %seed: tensor<i64> {gradc.name = "seed"})
// CHECK: onnx.BitShift
// CHECK: onnx.Less
// CHECK: %y = onnx.Where
// CHECK: %s, %n = onnx.Dropout %x, %z
