// RUN: gradc-opt %s -p 'lora{weights="*weight" rank=2 alpha=4.0}' | filecheck %s
// RUN: not gradc-opt %s -p 'lora{weights="x"}' 2>&1 | filecheck %s --check-prefix NONE

// NONE: lora: no weight has the name x

// CHECK: %weight = onnx.Constant
// CHECK: %weight.lora_a = onnx.Constant
// CHECK: %weight.lora_b = onnx.Constant dense<0.0
// CHECK: onnx.MatMul %x, %weight
// CHECK: onnx.MatMul %x, %weight.lora_a
// CHECK: onnx.Mul
// CHECK: onnx.MatMul
// CHECK: %y = onnx.Add
func.func @main(%x: tensor<5x4xf32>) -> tensor<5x3xf32> {
  %weight = onnx.Constant dense<1.0> : tensor<4x3xf32>
  %y = onnx.MatMul %x, %weight : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  func.return %y : tensor<5x3xf32>
}
