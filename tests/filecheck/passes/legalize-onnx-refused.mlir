// RUN: gradc-opt %s -p 'legalize-onnx{opset=17}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: not gradc-opt %s -p 'legalize-onnx{opset=17}' --split-input-file

// C1: an op of another dialect
// CHECK: legalize-onnx-refused.mlir:[[# @LINE + 2]]:3: error: [InterpolateBackward "dx"] onednn.interpolate_backward was not lowered to ONNX
func.func @source(%x: tensor<1x2x4xf32>, %dy: tensor<1x3x4xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "nearest", sizes = [3]} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  func.return %dx : tensor<1x2x4xf32>
}

// -----

// C1: nor one of the canonical dialect
// CHECK: legalize-onnx-refused.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] grad.conv_backward_data was not lowered to ONNX
func.func @canonical(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x1xf32>) -> tensor<1x3x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x1xf32>) -> tensor<1x3x5xf32>
  func.return %dx : tensor<1x3x5xf32>
}

// -----

// C1: nor a constant that nobody materialized
// CHECK: legalize-onnx-refused.mlir:[[# @LINE + 2]]:3: error: [arith.constant "c"] arith.constant was not lowered to ONNX
func.func @constant() -> tensor<2xf32> {
  %c = arith.constant dense<1.0> : tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// -----

// C2: Col2Im is younger than opset 17
// CHECK: legalize-onnx-refused.mlir:[[# @LINE + 2]]:3: error: [onnx.Col2Im "y"] Col2Im in this form: given opset=17, expected 18 and newer
func.func @old(%x: tensor<1x8x4xf32>, %a: tensor<2xi64>, %b: tensor<2xi64>) -> tensor<?x?x?x?xf32> {
  %y = onnx.Col2Im %x, %a, %b {strides = [2, 2]} : (tensor<1x8x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?x?x?xf32>
  func.return %y : tensor<?x?x?x?xf32>
}

// -----

// C2: Pad takes axes from opset 18 on
// CHECK: legalize-onnx-refused.mlir:[[# @LINE + 2]]:3: error: [onnx.Pad "y"] Pad in this form: given opset=17, expected 18 and newer
func.func @form(%x: tensor<2x3xf32>, %p: tensor<2xi64>, %a: tensor<1xi64>) -> tensor<?x?xf32> {
  %y = onnx.Pad %x, %p, _, %a : (tensor<2x3xf32>, tensor<2xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// -----

// C3: no kernel
// CHECK: legalize-onnx-refused.mlir:[[# @LINE + 2]]:3: error: [onnx.Conv "y"] Conv has no kernel for f64 on cpu at opset 17
func.func @kernel(%x: tensor<1x2x5xf64>, %w: tensor<3x2x3xf64>) -> tensor<1x3x3xf64> {
  %y = onnx.Conv %x, %w : (tensor<1x2x5xf64>, tensor<3x2x3xf64>) -> tensor<1x3x3xf64>
  func.return %y : tensor<1x3x3xf64>
}

// -----

// C3: no kernel for a half type that nobody widened
// CHECK: legalize-onnx-refused.mlir:[[# @LINE + 2]]:3: error: [onnx.Abs "y"] Abs has no kernel for bf16 on cpu at opset 17
func.func @half(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  %y = onnx.Abs %x : (tensor<2xbf16>) -> tensor<2xbf16>
  func.return %y : tensor<2xbf16>
}
