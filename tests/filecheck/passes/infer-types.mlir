// RUN: gradc-opt %s -p infer-types | filecheck %s
// RUN: gradc-opt %s -p infer-types,infer-types | filecheck %s

// A name that a dim has in an operand travels to the result, and into the function's type.
func.func @names(%dy: tensor<?x4x7xf32, ["N", "", ""]>, %w: tensor<6x4x3xf32>) -> tensor<?x?x?xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<?x4x7xf32, ["N", "", ""]>, tensor<6x4x3xf32>) -> tensor<?x?x?xf32>
  func.return %dx : tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @names(
// CHECK-SAME: -> tensor<?x6x3xf32, ["N", "", ""]>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<?x4x7xf32, ["N", "", ""]>, tensor<6x4x3xf32>) -> tensor<?x6x3xf32, ["N", "", ""]>
// CHECK-NEXT: func.return %dx : tensor<?x6x3xf32, ["N", "", ""]>

// Types are inferred in order: what the first op learns, the second builds upon. (7 - 3) div 1 + 1 = 5.
func.func @chain(%dy: tensor<1x4x7xf32>, %w: tensor<4x4x3xf32>) -> tensor<?x?x?xf32> {
  %a = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x7xf32>, tensor<4x4x3xf32>) -> tensor<?x?x?xf32>
  %b = onednn.conv_transpose_backward_data %a, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<?x?x?xf32>, tensor<4x4x3xf32>) -> tensor<?x?x?xf32>
  func.return %b : tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: -> tensor<1x4x3xf32>
// CHECK-NEXT: %a = onednn.conv_transpose_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x7xf32>, tensor<4x4x3xf32>) -> tensor<1x4x5xf32>
// CHECK-NEXT: %b = onednn.conv_transpose_backward_data %a, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<1x4x5xf32>, tensor<4x4x3xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT: func.return %b : tensor<1x4x3xf32>

// What only the declared type knows is kept.
func.func @declared(%dy: tensor<?x4x7xf32>, %w: tensor<6x4x3xf32>) -> tensor<5x6x3xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<?x4x7xf32>, tensor<6x4x3xf32>) -> tensor<5x6x3xf32>
  func.return %dx : tensor<5x6x3xf32>
}
// CHECK-LABEL: func.func @declared(
// CHECK-SAME: -> tensor<5x6x3xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "IOX"} : (tensor<?x4x7xf32>, tensor<6x4x3xf32>) -> tensor<5x6x3xf32>
// CHECK-NEXT: func.return %dx : tensor<5x6x3xf32>

func.func @dst_shape(%dy: tensor<?x4x7xf32, ["N", "", ""]>, %w: tensor<4x2x3xf32>) -> tensor<?x?x?xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", dst_shape = [-9223372036854775808, 2, 9]} : (tensor<?x4x7xf32, ["N", "", ""]>, tensor<4x2x3xf32>) -> tensor<?x?x?xf32>
  func.return %dx : tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @dst_shape(
// CHECK-SAME: -> tensor<?x2x9xf32, ["N", "", ""]>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NCX", weights_format = "OIX", dst_shape = [-9223372036854775808, 2, 9]} : (tensor<?x4x7xf32, ["N", "", ""]>, tensor<4x2x3xf32>) -> tensor<?x2x9xf32, ["N", "", ""]>
// CHECK-NEXT: func.return %dx : tensor<?x2x9xf32, ["N", "", ""]>

func.func @resize(%x: tensor<?x3x?xf32, ["N", "", "X"]>, %dy: tensor<?x3x8xf32>) -> tensor<?x?x?xf32> {
  %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [8], data_format = "NCX"} : (tensor<?x3x?xf32, ["N", "", "X"]>, tensor<?x3x8xf32>) -> tensor<?x?x?xf32>
  func.return %dx : tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @resize(
// CHECK-SAME: -> tensor<?x3x?xf32, ["N", "", "X"]>
// CHECK-NEXT: %dx = onednn.interpolate_backward %x, %dy {mode = "linear", sizes = [8], data_format = "NCX"} : (tensor<?x3x?xf32, ["N", "", "X"]>, tensor<?x3x8xf32, ["N", "", ""]>) -> tensor<?x3x?xf32, ["N", "", "X"]>
// CHECK-NEXT: func.return %dx : tensor<?x3x?xf32, ["N", "", "X"]>

func.func @onnx(%x: tensor<?x2xf32, ["N", ""]>, %w: tensor<2x5xf32>) -> tensor<?x?xf32> {
  %y = onnx.MatMul %x, %w : (tensor<?x2xf32, ["N", ""]>, tensor<2x5xf32>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @onnx(
// CHECK-SAME: -> tensor<?x5xf32, ["N", ""]>
// CHECK-NEXT: %y = onnx.MatMul %x, %w : (tensor<?x2xf32, ["N", ""]>, tensor<2x5xf32>) -> tensor<?x5xf32, ["N", ""]>
// CHECK-NEXT: func.return %y : tensor<?x5xf32, ["N", ""]>

// The channels of diff_dst are those of the weights: an input without them is given them, and so is what
// an op before makes of the same input.
func.func @channels(%dy: tensor<1x?x7xf32>, %w: tensor<6x2x3xf32>) -> (tensor<1x?x7xf32>, tensor<?x?x?xf32>) {
  %m = onnx.Neg %dy : (tensor<1x?x7xf32>) -> tensor<1x?x7xf32>
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX", weights_format = "IOX"} : (tensor<1x?x7xf32>, tensor<6x2x3xf32>) -> tensor<?x?x?xf32>
  func.return %m, %dx : tensor<1x?x7xf32>, tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @channels(
// CHECK-SAME: -> (tensor<1x4x7xf32>, tensor<1x6x3xf32>)
// CHECK-NEXT: %m = onnx.Neg %dy : (tensor<1x4x7xf32>) -> tensor<1x4x7xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NCX", weights_format = "IOX", source.settled_layout = "library"} : (tensor<1x4x7xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
// CHECK-NEXT: func.return %m, %dx : tensor<1x4x7xf32>, tensor<1x6x3xf32>

// The page's layout of grouped weights, which the declared channels of diff_src tell: 2 and not 4.
func.func @documented(%dy: tensor<1x7x?xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x3x12xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NXC", weights_format = "IOX"} : (tensor<1x7x?xf32>, tensor<6x2x3xf32>) -> tensor<1x3x12xf32>
  func.return %dx : tensor<1x3x12xf32>
}
// CHECK-LABEL: func.func @documented(
// CHECK-SAME: -> tensor<1x3x12xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NXC", weights_format = "IOX"} : (tensor<1x7x2xf32>, tensor<6x2x3xf32>) -> tensor<1x3x12xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x12xf32>

// The weights alone tell it where groups divide the channels of one reading only.
func.func @weights_tell(%dy: tensor<1x7x?xf32>, %w: tensor<3x4x3xf32>) -> tensor<1x3x?xf32> {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NXC", weights_format = "IOX"} : (tensor<1x7x?xf32>, tensor<3x4x3xf32>) -> tensor<1x3x?xf32>
  func.return %dx : tensor<1x3x?xf32>
}
// CHECK-LABEL: func.func @weights_tell(
// CHECK-SAME: -> tensor<1x3x6xf32>
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NXC", weights_format = "IOX"} : (tensor<1x7x4xf32>, tensor<3x4x3xf32>) -> tensor<1x3x6xf32>
// CHECK-NEXT: func.return %dx : tensor<1x3x6xf32>

// What another op tells of the same input settles it: 4 channels, so that the weights are the page's.
func.func @another_tells(%dy: tensor<1x7x?xf32>, %w: tensor<4x4x3xf32>, %v: tensor<4x2x1xf32>) -> (tensor<1x3x?xf32>, tensor<1x7x2xf32>) {
  %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NXC", weights_format = "IOX"} : (tensor<1x7x?xf32>, tensor<4x4x3xf32>) -> tensor<1x3x?xf32>
  %e = onednn.convolution_backward_data %dy, %v {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NXC", weights_format = "OIX"} : (tensor<1x7x?xf32>, tensor<4x2x1xf32>) -> tensor<1x7x2xf32>
  func.return %dx, %e : tensor<1x3x?xf32>, tensor<1x7x2xf32>
}
// CHECK-LABEL: func.func @another_tells(
// CHECK-SAME: -> (tensor<1x3x8xf32>, tensor<1x7x2xf32>)
// CHECK-NEXT: %dx = onednn.conv_transpose_backward_data %dy, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], groups = 2, data_format = "NXC", weights_format = "IOX"} : (tensor<1x7x4xf32>, tensor<4x4x3xf32>) -> tensor<1x3x8xf32>
// CHECK-NEXT: %e = onednn.convolution_backward_data %dy, %v {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], data_format = "NXC", weights_format = "OIX"} : (tensor<1x7x4xf32>, tensor<4x2x1xf32>) -> tensor<1x7x2xf32>
// CHECK-NEXT: func.return %dx, %e : tensor<1x3x8xf32>, tensor<1x7x2xf32>

// A size that one input is found to have is that of all dims of the name.
func.func @named(%dy: tensor<1x5x?xf32, ["", "", "C"]>, %b: tensor<1x5x?xf32, ["", "", "C"]>, %w: tensor<4x2x3xf32>) -> (tensor<1x5x4xf32>, tensor<1x5x?xf32, ["", "", "C"]>) {
  %s = onnx.Neg %b : (tensor<1x5x?xf32, ["", "", "C"]>) -> tensor<1x5x?xf32, ["", "", "C"]>
  %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [1], pads_end = [1], dilations = [1], groups = 2, data_format = "NXC", weights_format = "OIX"} : (tensor<1x5x?xf32, ["", "", "C"]>, tensor<4x2x3xf32>) -> tensor<1x5x4xf32>
  func.return %dx, %s : tensor<1x5x4xf32>, tensor<1x5x?xf32, ["", "", "C"]>
}
// CHECK-LABEL: func.func @named(
// CHECK-SAME: -> (tensor<1x5x4xf32>, tensor<1x5x4xf32>)
// CHECK-NEXT: %s = onnx.Neg %b : (tensor<1x5x4xf32>) -> tensor<1x5x4xf32>
// CHECK-NEXT: %dx = onednn.convolution_backward_data %dy, %w {strides = [1], pads_begin = [1], pads_end = [1], dilations = [1], groups = 2, data_format = "NXC", weights_format = "OIX"} : (tensor<1x5x4xf32>, tensor<4x2x3xf32>) -> tensor<1x5x4xf32>
// CHECK-NEXT: func.return %dx, %s : tensor<1x5x4xf32>, tensor<1x5x4xf32>

// The same if it is a result that is found to have it. In another function the name is another size.
func.func @named_result(%x: tensor<?x3xf32, ["N", ""]>, %y: tensor<2x3xf32>) -> (tensor<?x3xf32, ["N", ""]>, tensor<?x3xf32, ["N", ""]>) {
  %a = onnx.Abs %x : (tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
  %b = onnx.Neg %y : (tensor<2x3xf32>) -> tensor<?x3xf32, ["N", ""]>
  func.return %a, %b : tensor<?x3xf32, ["N", ""]>, tensor<?x3xf32, ["N", ""]>
}
// CHECK-LABEL: func.func @named_result(
// CHECK-SAME: -> (tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: %a = onnx.Abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %b = onnx.Neg %y : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %a, %b : tensor<2x3xf32>, tensor<2x3xf32>
