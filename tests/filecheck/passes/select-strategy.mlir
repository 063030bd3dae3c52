// RUN: gradc-opt %s -p select-strategy | filecheck %s
// RUN: gradc-opt %s -p 'select-strategy{strategy=auto}' | filecheck %s
// RUN: gradc-opt %s -p 'select-strategy{strategy=conv-to-matmul}' | filecheck %s --check-prefix=FORCED
// RUN: gradc-opt %s -p 'select-strategy{strategy=conv_to_matmul}' | filecheck %s --check-prefix=FORCED

// `auto` takes the cheapest strategy that applies; a forced one is for the ops that it knows. Which one is
// the cheapest is said only of sizes where the others take half as long again, or more.

// Channels last, kernel 1 is a product.
func.func @pointwise(%dy: tensor<1x56x56x256xf32>, %w: tensor<256x64x1x1xf32>) -> tensor<1x56x56x64xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], groups = 1, residue = [0, 0], layout = "NXC"} : (tensor<1x56x56x256xf32>, tensor<256x64x1x1xf32>) -> tensor<1x56x56x64xf32>
  func.return %dx : tensor<1x56x56x64xf32>
}
// CHECK-LABEL: func.func @pointwise(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: onnx.MatMul {{.*}}gradc.strategy = "conv-nxc-to-matmul"}
// FORCED-LABEL: func.func @pointwise(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "conv-to-matmul"}

// Constant weights are flipped once, at compile time. A depthwise ConvTranspose runs channel by channel.
func.func @constant_weights(%dy: tensor<1x144x56x56xf32>) -> tensor<1x144x56x56xf32> {
  %w = onnx.Constant dense<2.0> : tensor<144x1x3x3xf32>
  %dx = grad.conv_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 144, residue = [0, 0], layout = "NCX"} : (tensor<1x144x56x56xf32>, tensor<144x1x3x3xf32>) -> tensor<1x144x56x56xf32>
  func.return %dx : tensor<1x144x56x56xf32>
}
// CHECK-LABEL: func.func @constant_weights(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: onnx.Conv {{.*}}gradc.strategy = "conv-to-conv"}
// FORCED-LABEL: func.func @constant_weights(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "conv-to-matmul"}

// Run-time weights.
func.func @runtime_weights(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x7xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  func.return %dx : tensor<1x3x7xf32>
}
// CHECK-LABEL: func.func @runtime_weights(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: gradc.strategy = "conv-to-
// FORCED-LABEL: func.func @runtime_weights(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "conv-to-matmul"}

// A strided gradient is no convolution.
func.func @strided(%dy: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x11xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x11xf32>
  func.return %dx : tensor<1x3x11xf32>
}
// CHECK-LABEL: func.func @strided(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: gradc.strategy = "conv-to-
// FORCED-LABEL: func.func @strided(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "conv-to-matmul"}

// The CPU has no f64 convolution, but a product.
func.func @f64(%dy: tensor<1x2x5xf64>, %w: tensor<2x3x3xf64>) -> tensor<1x3x7xf64> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf64>, tensor<2x3x3xf64>) -> tensor<1x3x7xf64>
  func.return %dx : tensor<1x3x7xf64>
}
// CHECK-LABEL: func.func @f64(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: onnx.MatMul {{.*}}gradc.strategy = "conv-{{.*}}to-matmul"}
// FORCED-LABEL: func.func @f64(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "conv-to-matmul"}

func.func @transpose(%dy: tensor<1x2x7xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x5xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, layout = "NCX"} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  func.return %dx : tensor<1x3x5xf32>
}
// CHECK-LABEL: func.func @transpose(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: gradc.strategy = "conv-to-
// FORCED-LABEL: func.func @transpose(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "conv-to-matmul"}

func.func @resize(%dy: tensor<1x3x4xf32>) -> tensor<1x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [2], input_sizes = [2], step_numerators = [1], step_denominators = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x4xf32>) -> tensor<1x3x2xf32>
  func.return %dx : tensor<1x3x2xf32>
}
// CHECK-LABEL: func.func @resize(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: gradc.strategy = "resize-to-
// FORCED-LABEL: func.func @resize(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "resize-to-matmul"}

func.func @resize_dynamic(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @resize_dynamic(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: onnx.MatMul {{.*}}gradc.strategy = "resize-dynamic-to-matmul"}
// FORCED-LABEL: func.func @resize_dynamic(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.MatMul {{.*}}gradc.strategy = "resize-dynamic-to-matmul"}

func.func @window(%x: tensor<1x2x9xf32>, %b: tensor<1xi64>, %s: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %r = grad.take_window %x, %b, %s {axes = [2]} : (tensor<1x2x9xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %r : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @window(
// CHECK-NOT: grad.{{[a-z]+_}}
// CHECK: onnx.Slice {{.*}}gradc.strategy = "window-to-slice"}
// FORCED-LABEL: func.func @window(
// FORCED-NOT: grad.{{[a-z]+_}}
// FORCED: onnx.Slice {{.*}}gradc.strategy = "window-to-slice"}
