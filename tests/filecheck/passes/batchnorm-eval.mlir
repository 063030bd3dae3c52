// RUN: gradc-opt %s -p batchnorm-eval | filecheck %s

// The running statistics stay as they are.
func.func @main(%x: tensor<4x3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<3xf32>
  %y, %n, %u = onnx.BatchNormalization %x, %w, %w, %m, %v {training_mode = 1} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %y, %n, %u : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK: onnx.BatchNormalization %x, %w, %w, %m, %v {training_mode = 0}
// CHECK: func.return %y, %m, %v
