// RUN: gradc-opt %s -p conv-to-conv-transpose,simplify | filecheck %s
// RUN: gradc-opt %s -p 'conv-to-conv-transpose{target=cuda},simplify' | filecheck %s --check-prefix=CUDA

// Weights as they are; the residue is output_padding.
func.func @plain(%dy: tensor<1x4x3xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x6x6xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [1], groups = 2, residue = [1], layout = "NCX"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
  func.return %dx : tensor<1x6x6xf32>
}
// CUDA-LABEL: func.func @plain(
// CUDA-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1], group = 2, output_padding = [1], pads = [1, 1], strides = [2], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
// CUDA-NEXT: func.return %dx : tensor<1x6x6xf32>
// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1], group = 2, output_padding = [1], pads = [1, 1], strides = [2], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x4x3xf32>, tensor<4x3x3xf32>) -> tensor<1x6x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x6x6xf32>

// cuDNN has one pad per axis: the smaller one of both, and a Slice of the rest.
func.func @asymmetric(%dy: tensor<1x4x3x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x3x4x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [1, 0], groups = 1, residue = [0, 0], layout = "NCX"} : (tensor<1x4x3x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x4x5xf32>
  func.return %dx : tensor<1x3x4x5xf32>
}
// CUDA-LABEL: func.func @asymmetric(
// CUDA-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1, 1], group = 1, output_padding = [0, 0], pads = [0, 0, 0, 0], strides = [1, 1], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x4x3x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x5x5xf32>
// CUDA-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<0> : tensor<2xi64>
// CUDA-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<[4, 5]> : tensor<2xi64>
// CUDA-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<[2, 3]> : tensor<2xi64>
// CUDA-NEXT: %dx_4 = onnx.Slice %dx, %dx_1, %dx_2, %dx_3 {gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x3x5x5xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x3x4x5xf32>
// CUDA-NEXT: func.return %dx_4 : tensor<1x3x4x5xf32>
// CHECK-LABEL: func.func @asymmetric(
// CHECK-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1, 1], group = 1, output_padding = [0, 0], pads = [0, 0, 1, 0], strides = [1, 1], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x4x3x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x4x5xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x4x5xf32>

// The Slice begins at 2 - 1.
func.func @begin_is_larger(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x4xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [2], pads_end = [1], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x4xf32>
  func.return %dx : tensor<1x3x4xf32>
}
// CUDA-LABEL: func.func @begin_is_larger(
// CUDA-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1], group = 1, output_padding = [0], pads = [1, 1], strides = [1], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x5xf32>
// CUDA-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<1> : tensor<1xi64>
// CUDA-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<5> : tensor<1xi64>
// CUDA-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<2> : tensor<1xi64>
// CUDA-NEXT: %dx_4 = onnx.Slice %dx, %dx_1, %dx_2, %dx_3 {gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x3x5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x3x4xf32>
// CUDA-NEXT: func.return %dx_4 : tensor<1x3x4xf32>
// CHECK-LABEL: func.func @begin_is_larger(
// CHECK-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1], group = 1, output_padding = [0], pads = [2, 1], strides = [1], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x4xf32>

// Of an unknown size, the Slice counts from the end.
func.func @dynamic(%dy: tensor<?x2x?xf32>, %w: tensor<2x3x3xf32>) -> tensor<?x3x?xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [1], groups = 1, residue = [0], layout = "NCX"} : (tensor<?x2x?xf32>, tensor<2x3x3xf32>) -> tensor<?x3x?xf32>
  func.return %dx : tensor<?x3x?xf32>
}
// CUDA-LABEL: func.func @dynamic(
// CUDA-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1], group = 1, output_padding = [0], pads = [0, 0], strides = [2], gradc.strategy = "conv-to-conv-transpose"} : (tensor<?x2x?xf32>, tensor<2x3x3xf32>) -> tensor<?x3x?xf32>
// CUDA-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<0> : tensor<1xi64>
// CUDA-NEXT: %dx_2 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<-1> : tensor<1xi64>
// CUDA-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "conv-to-conv-transpose"} dense<2> : tensor<1xi64>
// CUDA-NEXT: %dx_4 = onnx.Slice %dx, %dx_1, %dx_2, %dx_3 {gradc.strategy = "conv-to-conv-transpose"} : (tensor<?x3x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3x?xf32>
// CUDA-NEXT: func.return %dx_4 : tensor<?x3x?xf32>
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1], group = 1, output_padding = [0], pads = [0, 1], strides = [2], gradc.strategy = "conv-to-conv-transpose"} : (tensor<?x2x?xf32>, tensor<2x3x3xf32>) -> tensor<?x3x?xf32>
// CHECK-NEXT: func.return %dx : tensor<?x3x?xf32>

// ConvTranspose has no f64 kernel on the CPU; on cuda it has.
func.func @f64(%dy: tensor<1x2x5xf64>, %w: tensor<2x3x3xf64>) -> tensor<1x3x7xf64> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
  func.return %dx : tensor<1x3x7xf64>
}
// CUDA-LABEL: func.func @f64(
// CUDA-NEXT: %dx = onnx.ConvTranspose %dy, %w {dilations = [1], group = 1, output_padding = [0], pads = [0, 0], strides = [1], gradc.strategy = "conv-to-conv-transpose"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
// CUDA-NEXT: func.return %dx : tensor<1x3x7xf64>
// CHECK-LABEL: func.func @f64(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
// CHECK-NEXT: func.return %dx : tensor<1x3x7xf64>
