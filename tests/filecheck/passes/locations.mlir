// RUN: gradc-opt %s --print-debuginfo | filecheck %s --check-prefix=SOURCE
// RUN: gradc-opt %s --print-debuginfo -p lower | filecheck %s
// RUN: gradc-opt %s --print-debuginfo -p 'lower{target=cuda}' | filecheck %s
// RUN: gradc-opt %s --print-debuginfo -p canonicalize,canonicalize-layout,lower-cann,lower-onednn,conv-to-matmul,resize-to-matmul,resize-dynamic-to-matmul | filecheck %s
// RUN: gradc-opt %s --print-debuginfo | gradc-opt --print-debuginfo | filecheck %s --check-prefix=SOURCE

// An op read from text knows its place and its name there, and what it becomes knows the same.
// What simplify folds or joins of one op's own is the op's as well.

func.func @convolution(%dy: tensor<1x7x4xf32>, %w: tensor<3x2x4xf32>) -> tensor<1x9x2xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x7x4xf32>, tensor<3x2x4xf32>) -> tensor<1x9x2xf32>
  func.return %dx : tensor<1x9x2xf32>
}
// SOURCE-LABEL: func.func @convolution(
// SOURCE: loc("dx"("{{.*}}locations.mlir":[[# @LINE - 4]]:3))
// CHECK-LABEL: func.func @convolution(
// CHECK-SAME: -> {{.*}} {
// CHECK-NOT: loc(unknown)
// CHECK: onnx.{{.*}} loc("dx"("{{.*}}locations.mlir":[[# @LINE - 8]]:3))
// CHECK-NOT: loc(unknown)

func.func @half(%dy: tensor<1x7x4xbf16>, %w: tensor<3x2x4xbf16>) -> tensor<1x9x2xbf16> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x7x4xbf16>, tensor<3x2x4xbf16>) -> tensor<1x9x2xbf16>
  func.return %dx : tensor<1x9x2xbf16>
}
// SOURCE-LABEL: func.func @half(
// SOURCE: loc("dx"("{{.*}}locations.mlir":[[# @LINE - 4]]:3))
// CHECK-LABEL: func.func @half(
// CHECK-SAME: -> {{.*}} {
// CHECK-NOT: loc(unknown)
// CHECK: onnx.{{.*}} loc("dx"("{{.*}}locations.mlir":[[# @LINE - 8]]:3))
// CHECK-NOT: loc(unknown)

func.func @conv_transpose(%dy: tensor<1x?x4xf32>, %w: tensor<3x4x5xf32>) -> tensor<1x?x5xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], auto_pad = "same_upper"} : (tensor<1x?x4xf32>, tensor<3x4x5xf32>) -> tensor<1x?x5xf32>
  func.return %dx : tensor<1x?x5xf32>
}
// SOURCE-LABEL: func.func @conv_transpose(
// SOURCE: loc("dx"("{{.*}}locations.mlir":[[# @LINE - 4]]:3))
// CHECK-LABEL: func.func @conv_transpose(
// CHECK-SAME: -> {{.*}} {
// CHECK-NOT: loc(unknown)
// CHECK: onnx.{{.*}} loc("dx"("{{.*}}locations.mlir":[[# @LINE - 8]]:3))
// CHECK-NOT: loc(unknown)

func.func @interpolate(%x: tensor<1x?x4xf32>, %dy: tensor<1x?x4xf32>, %s: tensor<1xi32>) -> tensor<1x?x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy, %s {mode = "linear"} : (tensor<1x?x4xf32>, tensor<1x?x4xf32>, tensor<1xi32>) -> tensor<1x?x4xf32>
  func.return %dx : tensor<1x?x4xf32>
}
// SOURCE-LABEL: func.func @interpolate(
// SOURCE: loc("dx"("{{.*}}locations.mlir":[[# @LINE - 4]]:3))
// CHECK-LABEL: func.func @interpolate(
// CHECK-SAME: -> {{.*}} {
// CHECK-NOT: loc(unknown)
// CHECK: onnx.{{.*}} loc("dx"("{{.*}}locations.mlir":[[# @LINE - 8]]:3))
// CHECK-NOT: loc(unknown)

func.func @upsample(%dy: tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32> {
  %dx = cann.upsample_bilinear2d_backward %dy {outputSize = [4, 5], inputSize = [1, 2, 3, 3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return %dx : tensor<1x2x3x3xf32>
}
// SOURCE-LABEL: func.func @upsample(
// SOURCE: loc("dx"("{{.*}}locations.mlir":[[# @LINE - 4]]:3))
// CHECK-LABEL: func.func @upsample(
// CHECK-SAME: -> {{.*}} {
// CHECK-NOT: loc(unknown)
// CHECK: onnx.{{.*}} loc("dx"("{{.*}}locations.mlir":[[# @LINE - 8]]:3))
// CHECK-NOT: loc(unknown)

// A place that the text gives is kept.

func.func @given(%x: tensor<1x2x4xf32>, %dy: tensor<1x6x4xf32>) -> tensor<1x2x4xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [6]} : (tensor<1x2x4xf32>, tensor<1x6x4xf32>) -> tensor<1x2x4xf32> loc("up/1"("graph.json":7:9))
  func.return %dx : tensor<1x2x4xf32>
}
// SOURCE-LABEL: func.func @given(
// SOURCE: loc("up/1"("graph.json":7:9))
// CHECK-LABEL: func.func @given(
// CHECK-SAME: -> {{.*}} {
// CHECK-NOT: loc(unknown)
// CHECK: onnx.{{.*}} loc("up/1"("graph.json":7:9))
// CHECK-NOT: loc(unknown)
