// RUN: gradc-opt %s -p 'legalize-onnx{target=cuda opset=22}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: not gradc-opt %s -p 'legalize-onnx{target=cuda opset=22}' --split-input-file

// An older opset has the kernel
// CHECK: legalize-onnx-remedy.mlir:[[# @LINE + 2]]:3: error: [onnx.GlobalMaxPool "y"] GlobalMaxPool has no kernel for f32 on cuda at opset 22; opset=21 has one
func.func @older(%x: tensor<1x2x5x5xf32>) -> tensor<1x2x1x1xf32> {
  %y = onnx.GlobalMaxPool %x : (tensor<1x2x5x5xf32>) -> tensor<1x2x1x1xf32>
  func.return %y : tensor<1x2x1x1xf32>
}

// -----

// No opset has
// CHECK: legalize-onnx-remedy.mlir:[[# @LINE + 2]]:3: error: [onnx.Det "y"] Det has no kernel for f32 on cuda at opset 22{{$}}
func.func @none(%x: tensor<2x2xf32>) -> tensor<f32> {
  %y = onnx.Det %x : (tensor<2x2xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
