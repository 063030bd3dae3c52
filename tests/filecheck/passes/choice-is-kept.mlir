// RUN: gradc-opt %s -p canonicalize,legalize-types,canonicalize-layout,lower-cann,lower-onednn,simplify | filecheck %s

// What the source says of the strategy reaches the canonical gradients, through every rewrite.

func.func @weights_transposed(%dy: tensor<1x5x5x4xf32>, %w: tensor<3x3x2x4xf32>) -> tensor<1x7x7x2xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1], gradc.choice = "conv-to-col2im"} : (tensor<1x5x5x4xf32>, tensor<3x3x2x4xf32>) -> tensor<1x7x7x2xf32>
  func.return %dx : tensor<1x7x7x2xf32>
}
// CHECK-LABEL: func.func @weights_transposed(
// CHECK: grad.conv_backward_data {{.*}}gradc.choice = "conv-to-col2im"

func.func @window(%dy: tensor<1x4x5x5xf16>, %w: tensor<4x2x3x3xf16>, %size: tensor<4xi32>) -> tensor<1x2x?x?xf16> {
  %dx = onednn.convolution_backward_data %dy, %w, %size {strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1], data_format = "NCX", weights_format = "OIX", gradc.choice = "conv-to-col2im"} : (tensor<1x4x5x5xf16>, tensor<4x2x3x3xf16>, tensor<4xi32>) -> tensor<1x2x?x?xf16>
  func.return %dx : tensor<1x2x?x?xf16>
}
// CHECK-LABEL: func.func @window(
// CHECK: grad.conv_backward_data {{.*}}gradc.choice = "conv-to-col2im"

func.func @upsample(%dy: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32> {
  %dx = cann.upsample_bilinear2d_backward %dy {outputSize = [8, 8], inputSize = [1, 3, 4, 4], alignCorners = false, gradc.choice = "resize-to-matmul"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  func.return %dx : tensor<1x3x4x4xf32>
}
// CHECK-LABEL: func.func @upsample(
// CHECK: grad.resize_backward {{.*}}gradc.choice = "resize-to-matmul"
