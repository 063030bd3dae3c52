// RUN: gradc-opt %s -p infer-types --verify-diagnostics --split-input-file | filecheck %s
// RUN: not gradc-opt %s -p infer-types --split-input-file 2>&1

// Each op by itself could be right; what the first one learns contradicts the type of the second.
// CHECK: infer-types-conflict.mlir:[[# @LINE + 3]]:3: error: [ConvTransposeBackwardData "b"] diff_src axis W: given 4 [1, 4, 4], expected (5 + 0 + 0 - 3) div 1 + 1 = 3 [1, 4, 3]
func.func @sizes(%dy: tensor<1x4x7xf32>, %w: tensor<4x4x3xf32>) -> tensor<1x4x4xf32> {
  %a = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x7xf32>, tensor<4x4x3xf32>) -> tensor<?x?x?xf32>
  %b = onednn.conv_transpose_backward_data %a, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<?x?x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x4xf32>
  func.return %b : tensor<1x4x4xf32>
}

// -----

// CHECK: infer-types-conflict.mlir:[[# @LINE + 3]]:3: error: [onnx.Add "b"] shape of C: given [1, 4, 3], expected [1, 4, 5]
func.func @onnx(%dy: tensor<1x4x7xf32>, %w: tensor<4x4x3xf32>) -> tensor<1x4x3xf32> {
  %a = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x7xf32>, tensor<4x4x3xf32>) -> tensor<?x?x?xf32>
  %b = onnx.Add %a, %a : (tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<1x4x3xf32>
  func.return %b : tensor<1x4x3xf32>
}
