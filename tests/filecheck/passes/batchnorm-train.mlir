// RUN: gradc-opt %s -p batchnorm-train | filecheck %s

// 4 numbers per channel: the new variance is 4/3 times ONNX's, less a third of what the old one adds to it.
func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %w = onnx.Constant dense<1.0> : tensor<3xf32>
  %b = onnx.Constant dense<0.0> : tensor<3xf32>
  %m = onnx.Constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %v = onnx.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y, %n, %u = onnx.BatchNormalization %x, %w, %b, %m, %v {momentum = 0.75 : f32} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %y : tensor<4x3xf32>
}
// CHECK-LABEL: func.func @main(%x: tensor<4x3xf32> {gradc.name = "x"}, %m: tensor<3xf32> {gradc.name = "m", gradc.default = dense<[0.000000e+00, 1.000000e+00, 2.000000e+00]> : tensor<3xf32>, gradc.state}, %v: tensor<3xf32> {gradc.name = "v", gradc.default = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>, gradc.state}) ->
// CHECK: training_mode = 1
// CHECK: %new_v = onnx.Sub
// CHECK: func.return %y, %new_m, %new_v
