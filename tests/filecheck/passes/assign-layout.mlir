// RUN: gradc-opt %s -p assign-layout | filecheck %s

// One op is written as well between Transposes as beside them: nothing moves.
func.func @single(%dy: tensor<1x5x2xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x5x3xf32> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x2xf32>, tensor<3x2x3xf32>) -> tensor<1x5x3xf32>
  func.return %dx : tensor<1x5x3xf32>
}
// CHECK-LABEL: func.func @single(
// CHECK-NEXT: %dx = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x2xf32>, tensor<3x2x3xf32>) -> tensor<1x5x3xf32>
// CHECK-NEXT: func.return %dx : tensor<1x5x3xf32>

// Transposes at the border only; a resize and a Cast in between take any order.
func.func @chain(%dy: tensor<1x5x5x2xf32>, %w: tensor<3x2x3x3xf32>, %v: tensor<4x3x3x3xf16>) -> tensor<1x6x6x4xf16> {
  %a = grad.conv_transpose_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, layout = "NXC"} : (tensor<1x5x5x2xf32>, tensor<3x2x3x3xf32>) -> tensor<1x5x5x3xf32>
  %b = grad.resize_backward %a {axes = [1, 2], input_sizes = [6, 6], step_numerators = [6, 6], step_denominators = [5, 5], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x5x5x3xf32>) -> tensor<1x6x6x3xf32>
  %c = onnx.Cast %b {to = f16} : (tensor<1x6x6x3xf32>) -> tensor<1x6x6x3xf16>
  %d = grad.conv_transpose_backward_data %c, %v {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, layout = "NXC"} : (tensor<1x6x6x3xf16>, tensor<4x3x3x3xf16>) -> tensor<1x6x6x4xf16>
  func.return %d : tensor<1x6x6x4xf16>
}
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %dy_1 = onnx.Transpose %dy {perm = [0, 3, 1, 2]} : (tensor<1x5x5x2xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT: %a = grad.conv_transpose_backward_data %dy_1, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, layout = "NCX"} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x5x5xf32>
// CHECK-NEXT: %b = grad.resize_backward %a {axes = [2, 3], input_sizes = [6, 6], step_numerators = [6, 6], step_denominators = [5, 5], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x5x5xf32>) -> tensor<1x3x6x6xf32>
// CHECK-NEXT: %c = onnx.Cast %b {to = f16} : (tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xf16>
// CHECK-NEXT: %d = grad.conv_transpose_backward_data %c, %v {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, layout = "NCX"} : (tensor<1x3x6x6xf16>, tensor<4x3x3x3xf16>) -> tensor<1x4x6x6xf16>
// CHECK-NEXT: %d_1 = onnx.Transpose %d {perm = [0, 2, 3, 1]} : (tensor<1x4x6x6xf16>) -> tensor<1x6x6x4xf16>
// CHECK-NEXT: func.return %d_1 : tensor<1x6x6x4xf16>

// The Transpose is done where there is less to move.
func.func @smaller_side(%dy: tensor<1x9x9x2xf32>, %w: tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32> {
  %a = grad.conv_transpose_backward_data %dy, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, layout = "NXC"} : (tensor<1x9x9x2xf32>, tensor<3x2x3x3xf32>) -> tensor<1x9x9x3xf32>
  %b = grad.resize_backward %a {axes = [1, 2], input_sizes = [3, 3], step_numerators = [3, 3], step_denominators = [9, 9], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x9x9x3xf32>) -> tensor<1x3x3x3xf32>
  func.return %b : tensor<1x3x3x3xf32>
}
// CHECK-LABEL: func.func @smaller_side(
// CHECK-NEXT: %dy_1 = onnx.Transpose %dy {perm = [0, 3, 1, 2]} : (tensor<1x9x9x2xf32>) -> tensor<1x2x9x9xf32>
// CHECK-NEXT: %a = grad.conv_transpose_backward_data %dy_1, %w {strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], groups = 1, layout = "NCX"} : (tensor<1x2x9x9xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x9x9xf32>
// CHECK-NEXT: %b = grad.resize_backward %a {axes = [2, 3], input_sizes = [3, 3], step_numerators = [3, 3], step_denominators = [9, 9], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x9x9xf32>) -> tensor<1x3x3x3xf32>
// CHECK-NEXT: %b_1 = onnx.Transpose %b {perm = [0, 2, 3, 1]} : (tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32>
// CHECK-NEXT: func.return %b_1 : tensor<1x3x3x3xf32>

// Two readers share a Transpose, and an inner value that is a result keeps its order.
func.func @shared(%dy: tensor<1x5x2xf32>, %w: tensor<3x2x3xf32>, %v: tensor<4x3x3xf32>) -> (tensor<1x5x3xf32>, tensor<1x5x4xf32>, tensor<1x5x4xf32>) {
  %a = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x2xf32>, tensor<3x2x3xf32>) -> tensor<1x5x3xf32>
  %b = grad.conv_transpose_backward_data %a, %v {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x3xf32>, tensor<4x3x3xf32>) -> tensor<1x5x4xf32>
  %c = grad.conv_transpose_backward_data %a, %v {strides = [1], dilations = [2], pads_begin = [2], pads_end = [2], groups = 1, layout = "NXC"} : (tensor<1x5x3xf32>, tensor<4x3x3xf32>) -> tensor<1x5x4xf32>
  func.return %a, %b, %c : tensor<1x5x3xf32>, tensor<1x5x4xf32>, tensor<1x5x4xf32>
}
// CHECK-LABEL: func.func @shared(
// CHECK-NEXT: %dy_1 = onnx.Transpose %dy {perm = [0, 2, 1]} : (tensor<1x5x2xf32>) -> tensor<1x2x5xf32>
// CHECK-NEXT: %a = grad.conv_transpose_backward_data %dy_1, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x2x5xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %b = grad.conv_transpose_backward_data %a, %v {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x3x5xf32>, tensor<4x3x3xf32>) -> tensor<1x4x5xf32>
// CHECK-NEXT: %c = grad.conv_transpose_backward_data %a, %v {strides = [1], dilations = [2], pads_begin = [2], pads_end = [2], groups = 1, layout = "NCX"} : (tensor<1x3x5xf32>, tensor<4x3x3xf32>) -> tensor<1x4x5xf32>
// CHECK-NEXT: %a_1 = onnx.Transpose %a {perm = [0, 2, 1]} : (tensor<1x3x5xf32>) -> tensor<1x5x3xf32>
// CHECK-NEXT: %b_1 = onnx.Transpose %b {perm = [0, 2, 1]} : (tensor<1x4x5xf32>) -> tensor<1x5x4xf32>
// CHECK-NEXT: %c_1 = onnx.Transpose %c {perm = [0, 2, 1]} : (tensor<1x4x5xf32>) -> tensor<1x5x4xf32>
// CHECK-NEXT: func.return %a_1, %b_1, %c_1 : tensor<1x5x3xf32>, tensor<1x5x4xf32>, tensor<1x5x4xf32>

// Transposes that a graph brings along are part of the choice: here none is left.
func.func @brought_along(%dy: tensor<1x2x5xf32>, %w: tensor<3x2x3xf32>, %v: tensor<4x3x3xf32>) -> tensor<1x4x5xf32> {
  %0 = onnx.Transpose %dy {perm = [0, 2, 1]} : (tensor<1x2x5xf32>) -> tensor<1x5x2xf32>
  %a = grad.conv_transpose_backward_data %0, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x2xf32>, tensor<3x2x3xf32>) -> tensor<1x5x3xf32>
  %b = grad.conv_transpose_backward_data %a, %v {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x5x3xf32>, tensor<4x3x3xf32>) -> tensor<1x5x4xf32>
  %1 = onnx.Transpose %b {perm = [0, 2, 1]} : (tensor<1x5x4xf32>) -> tensor<1x4x5xf32>
  func.return %1 : tensor<1x4x5xf32>
}
// CHECK-LABEL: func.func @brought_along(
// CHECK-NEXT: %a = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x2x5xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
// CHECK-NEXT: %b = grad.conv_transpose_backward_data %a, %v {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x3x5xf32>, tensor<4x3x3xf32>) -> tensor<1x4x5xf32>
// CHECK-NEXT: func.return %b : tensor<1x4x5xf32>

// Run-time pads and a run-time window follow; sizes are read from whatever order there is.
func.func @runtime_sizes(%dy: tensor<1x?x2xf32>, %p: tensor<6xi64>, %w: tensor<3x2x3xf32>, %v: tensor<4x3x3xf32>, %b: tensor<1xi64>) -> tensor<1x?x4xf32> {
  %0 = grad.conv_transpose_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x?x2xf32>, tensor<3x2x3xf32>) -> tensor<1x?x3xf32>
  %1 = onnx.Pad %0, %p : (tensor<1x?x3xf32>, tensor<6xi64>) -> tensor<1x?x3xf32>
  %2 = grad.conv_transpose_backward_data %1, %v {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NXC"} : (tensor<1x?x3xf32>, tensor<4x3x3xf32>) -> tensor<1x?x4xf32>
  %3 = onnx.Shape %2 {start = 1, end = 2} : (tensor<1x?x4xf32>) -> tensor<1xi64>
  %4 = grad.take_window %2, %b, %3 {axes = [1]} : (tensor<1x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?x4xf32>
  func.return %4 : tensor<1x?x4xf32>
}
// CHECK-LABEL: func.func @runtime_sizes(
// CHECK-NEXT: %dy_1 = onnx.Transpose %dy {perm = [0, 2, 1]} : (tensor<1x?x2xf32>) -> tensor<1x2x?xf32>
// CHECK-NEXT: %0 = grad.conv_transpose_backward_data %dy_1, %w {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x2x?xf32>, tensor<3x2x3xf32>) -> tensor<1x3x?xf32>
// CHECK-NEXT: %1 = onnx.Constant dense<[0, 2, 1, 3, 5, 4]> : tensor<6xi64>
// CHECK-NEXT: %2 = onnx.Gather %p, %1 {axis = 0} : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
// CHECK-NEXT: %3 = onnx.Pad %0, %2 : (tensor<1x3x?xf32>, tensor<6xi64>) -> tensor<1x3x?xf32>
// CHECK-NEXT: %4 = grad.conv_transpose_backward_data %3, %v {strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, layout = "NCX"} : (tensor<1x3x?xf32>, tensor<4x3x3xf32>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %5 = onnx.Shape %4 : (tensor<1x4x?xf32>) -> tensor<3xi64>
// CHECK-NEXT: %6 = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT: %7 = onnx.Gather %5, %6 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = grad.take_window %4, %b, %7 {axes = [2]} : (tensor<1x4x?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4x?xf32>
// CHECK-NEXT: %9 = onnx.Transpose %8 {perm = [0, 2, 1]} : (tensor<1x4x?xf32>) -> tensor<1x?x4xf32>
// CHECK-NEXT: func.return %9 : tensor<1x?x4xf32>

// A function of each element all alone between inverse Transposes of three axes: both go.
func.func @alone_between_inverses(%a: tensor<1x2x5xf32>) -> tensor<1x2x5xf32> {
  %0 = onnx.Transpose %a {perm = [0, 2, 1]} : (tensor<1x2x5xf32>) -> tensor<1x5x2xf32>
  %1 = onnx.Relu %0 : (tensor<1x5x2xf32>) -> tensor<1x5x2xf32>
  %2 = onnx.Transpose %1 {perm = [0, 2, 1]} : (tensor<1x5x2xf32>) -> tensor<1x2x5xf32>
  func.return %2 : tensor<1x2x5xf32>
}
// CHECK-LABEL: func.func @alone_between_inverses(
// CHECK-NEXT: %0 = onnx.Relu %a : (tensor<1x2x5xf32>) -> tensor<1x2x5xf32>
// CHECK-NEXT: func.return %0 : tensor<1x2x5xf32>
