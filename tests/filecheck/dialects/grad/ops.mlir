// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @conv(%dy: tensor<2x4x3x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x6x6x5xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 1], dilations = [1, 2], pads_begin = [1, 0], pads_end = [1, 2], groups = 2, residue = [1, 0], layout = "NCX"} : (tensor<2x4x3x3xf32>, tensor<4x3x3x3xf32>) -> tensor<2x6x6x5xf32>
  func.return %dx : tensor<2x6x6x5xf32>
}
// CHECK-LABEL: func.func @conv(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2, 1], dilations = [1, 2], pads_begin = [1, 0], pads_end = [1, 2], groups = 2, residue = [1, 0], layout = "NCX"} : (tensor<2x4x3x3xf32>, tensor<4x3x3x3xf32>) -> tensor<2x6x6x5xf32>
// CHECK-NEXT: func.return %dx : tensor<2x6x6x5xf32>

func.func @conv_transpose(%dy: tensor<?x4x7xf32, ["N", "", ""]>, %w: tensor<6x2x3xf32>) -> tensor<?x6x3xf32, ["N", "", ""]> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<?x4x7xf32, ["N", "", ""]>, tensor<6x2x3xf32>) -> tensor<?x6x3xf32, ["N", "", ""]>
  func.return %dx : tensor<?x6x3xf32, ["N", "", ""]>
}
// CHECK-LABEL: func.func @conv_transpose(
// CHECK-NEXT: %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NCX"} : (tensor<?x4x7xf32, ["N", "", ""]>, tensor<6x2x3xf32>) -> tensor<?x6x3xf32, ["N", "", ""]>
// CHECK-NEXT: func.return %dx : tensor<?x6x3xf32, ["N", "", ""]>

func.func @conv_NXC(%dy: tensor<2x3x3x4xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x6x5x6xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2, 1], dilations = [1, 2], pads_begin = [1, 0], pads_end = [1, 2], groups = 2, residue = [1, 0], layout = "nxc"} : (tensor<2x3x3x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x6x5x6xf32>
  func.return %dx : tensor<2x6x5x6xf32>
}
// CHECK-LABEL: func.func @conv_NXC(
// CHECK-NEXT: %dx = grad.conv_backward_data %dy, %w {strides = [2, 1], dilations = [1, 2], pads_begin = [1, 0], pads_end = [1, 2], groups = 2, residue = [1, 0], layout = "NXC"} : (tensor<2x3x3x4xf32>, tensor<4x3x3x3xf32>) -> tensor<2x6x5x6xf32>
// CHECK-NEXT: func.return %dx : tensor<2x6x5x6xf32>

func.func @conv_transpose_NXC(%dy: tensor<?x7x4xf32, ["N", "", ""]>, %w: tensor<6x2x3xf32>) -> tensor<?x3x6xf32, ["N", "", ""]> {
  %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NXC"} : (tensor<?x7x4xf32, ["N", "", ""]>, tensor<6x2x3xf32>) -> tensor<?x3x6xf32, ["N", "", ""]>
  func.return %dx : tensor<?x3x6xf32, ["N", "", ""]>
}
// CHECK-LABEL: func.func @conv_transpose_NXC(
// CHECK-NEXT: %dx = grad.conv_transpose_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [0], pads_end = [0], groups = 2, layout = "NXC"} : (tensor<?x7x4xf32, ["N", "", ""]>, tensor<6x2x3xf32>) -> tensor<?x3x6xf32, ["N", "", ""]>
// CHECK-NEXT: func.return %dx : tensor<?x3x6xf32, ["N", "", ""]>

func.func @take_window(%x: tensor<1x2x9x9xf32>, %begin: tensor<2xi64>, %size: tensor<2xi64>) -> tensor<1x2x?x?xf32> {
  %r = grad.take_window %x, %begin, %size {axes = [2, 3]} : (tensor<1x2x9x9xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x?x?xf32>
  func.return %r : tensor<1x2x?x?xf32>
}
// CHECK-LABEL: func.func @take_window(
// CHECK-NEXT: %r = grad.take_window %x, %begin, %size {axes = [2, 3]} : (tensor<1x2x9x9xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x?x?xf32>
// CHECK-NEXT: func.return %r : tensor<1x2x?x?xf32>

func.func @resize(%dy: tensor<1x4x5x2xf32>) -> tensor<1x3x3x2xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [3, 3], step_numerators = [3, 2], step_denominators = [4, 4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x4x5x2xf32>) -> tensor<1x3x3x2xf32>
  func.return %dx : tensor<1x3x3x2xf32>
}
// CHECK-LABEL: func.func @resize(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [3, 3], step_numerators = [3, 2], step_denominators = [4, 4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x4x5x2xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x3x2xf32>

func.func @resize_nearest(%dy: tensor<1x2x5xf32>) -> tensor<1x2x3xf32> {
  %a = grad.resize_backward %dy {axes = [2], input_sizes = [3], step_numerators = [3], step_denominators = [5], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
  %b = grad.resize_backward %dy {axes = [2], input_sizes = [3], step_numerators = [3], step_denominators = [5], interpolation = "nearest_half_down", coordinates = "corner"} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
  %c = grad.resize_backward %dy {axes = [2], input_sizes = [3], step_numerators = [3], step_denominators = [5], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
  func.return %c : tensor<1x2x3xf32>
}
// CHECK-LABEL: func.func @resize_nearest(
// CHECK-NEXT: %a = grad.resize_backward %dy {axes = [2], input_sizes = [3], step_numerators = [3], step_denominators = [5], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %b = grad.resize_backward %dy {axes = [2], input_sizes = [3], step_numerators = [3], step_denominators = [5], interpolation = "nearest_half_down", coordinates = "corner"} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: %c = grad.resize_backward %dy {axes = [2], input_sizes = [3], step_numerators = [3], step_denominators = [5], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: func.return %c : tensor<1x2x3xf32>

func.func @resize_dynamic(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @resize_dynamic(
// CHECK-NEXT: %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
// CHECK-NEXT: func.return %dx : tensor<1x2x?xf32>

func.func @stop_gradient(%x: tensor<?x3xf32>, %y: tensor<*xf32>) -> (tensor<?x3xf32>, tensor<*xf32>) {
  %a = grad.stop_gradient %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %b = grad.stop_gradient %y {gradc.stopped = "y"} : (tensor<*xf32>) -> tensor<*xf32>
  func.return %a, %b : tensor<?x3xf32>, tensor<*xf32>
}
// CHECK-LABEL: func.func @stop_gradient(
// CHECK-NEXT: %a = grad.stop_gradient %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: %b = grad.stop_gradient %y {gradc.stopped = "y"} : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT: func.return %a, %b : tensor<?x3xf32>, tensor<*xf32>
