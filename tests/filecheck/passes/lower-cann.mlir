// RUN: gradc-opt %s -p lower-cann,simplify | filecheck %s

// 2: asymmetric by default; steps X / Y.
func.func @asymmetric(%dy: tensor<1x2x6x4xf32>, %x: tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x : (tensor<1x2x6x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %y : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @asymmetric(
// CHECK-NEXT: %y = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [2, 3], step_denominators = [3, 4], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x3xf32>

func.func @half_pixel(%dy: tensor<1x2x6x4xf32>, %x: tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x {half_pixel_centers = true} : (tensor<1x2x6x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %y : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @half_pixel(
// CHECK-NEXT: %y = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [2, 3], step_denominators = [3, 4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x3xf32>

// (X - 1) / (Y - 1); scales do not count.
func.func @align_corners(%dy: tensor<1x2x6x4xf32>, %x: tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x {align_corners = true, scales = [2.0, 2.0]} : (tensor<1x2x6x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %y : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @align_corners(
// CHECK-NEXT: %y = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [3, 2], step_denominators = [5, 3], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x3xf32>

// A positive scale is the step's inverse, the other one is unset.
func.func @scales(%dy: tensor<1x2x6x4xf32>, %x: tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x {half_pixel_centers = true, scales = [1.25, 0.0]} : (tensor<1x2x6x4xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %y : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @scales(
// CHECK-NEXT: %y = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [4, 3], step_denominators = [5, 4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x3xf32>

// The axes are where the format has them.
func.func @nhwc(%dy: tensor<1x6x4x2xf32>, %x: tensor<1x4x3x2xf32>) -> tensor<1x4x3x2xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x {format = "NHWC"} : (tensor<1x6x4x2xf32>, tensor<1x4x3x2xf32>) -> tensor<1x4x3x2xf32>
  func.return %y : tensor<1x4x3x2xf32>
}
// CHECK-LABEL: func.func @nhwc(
// CHECK-NEXT: %y = grad.resize_backward %dy {axes = [1, 2], input_sizes = [4, 3], step_numerators = [2, 3], step_denominators = [3, 4], interpolation = "linear", coordinates = "corner"} : (tensor<1x6x4x2xf32>) -> tensor<1x4x3x2xf32>
// CHECK-NEXT: func.return %y : tensor<1x4x3x2xf32>

// f32 gradients of a half image are rounded once, at the end.
func.func @half_image(%dy: tensor<1x2x6x4xf32>, %x: tensor<1x2x4x3xbf16>) -> tensor<1x2x4x3xbf16> {
  %y = cann.resize_bilinear_v2_grad %dy, %x : (tensor<1x2x6x4xf32>, tensor<1x2x4x3xbf16>) -> tensor<1x2x4x3xbf16>
  func.return %y : tensor<1x2x4x3xbf16>
}
// CHECK-LABEL: func.func @half_image(
// CHECK-NEXT: %y = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [2, 3], step_denominators = [3, 4], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: %y_1 = onnx.Cast %y {to = bf16} : (tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xbf16>
// CHECK-NEXT: func.return %y_1 : tensor<1x2x4x3xbf16>

// Equal sizes without scales are nothing.
func.func @identity(%dy: tensor<1x2x4x3xf32>, %x: tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x : (tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %y : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @identity(
// CHECK-NEXT: func.return %dy : tensor<1x2x4x3xf32>

// Equal sizes with a scale are not.
func.func @same_sizes_with_scale(%dy: tensor<1x2x4x3xf32>, %x: tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x {scales = [1.25, 1.0]} : (tensor<1x2x4x3xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
  func.return %y : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @same_sizes_with_scale(
// CHECK-NEXT: %y = grad.resize_backward %dy {axes = [2], input_sizes = [4], step_numerators = [4], step_denominators = [5], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x4x3xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x4x3xf32>

// Run-time sizes, a user's scale on one axis: 1 / 1.25 = 4 / 5.
func.func @dynamic(%dy: tensor<1x2x?x?xf32>, %x: tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x {scales = [1.25, 0.0]} : (tensor<1x2x?x?xf32>, tensor<1x2x?x?xf32>) -> tensor<1x2x?x?xf32>
  func.return %y : tensor<1x2x?x?xf32>
}
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %y = onnx.Shape %x : (tensor<1x2x?x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %y_1 = onnx.Constant dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %y_2 = onnx.Gather %y, %y_1 {axis = 0} : (tensor<4xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %y_3 = onnx.Shape %dy : (tensor<1x2x?x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %y_4 = onnx.Constant dense<4> : tensor<1xi64>
// CHECK-NEXT: %y_5 = onnx.Constant dense<5> : tensor<1xi64>
// CHECK-NEXT: %y_6 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %y_7 = onnx.Gather %y, %y_6 {axis = 0} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_8 = onnx.Gather %y_3, %y_6 {axis = 0} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_9 = onnx.Concat %y_4, %y_7 {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT: %y_10 = onnx.Concat %y_5, %y_8 {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT: %y_11 = grad.resize_backward_dynamic %dy, %y_2, %y_9, %y_10 {axes = [2, 3], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x?x?xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x?x?xf32>
// CHECK-NEXT: func.return %y_11 : tensor<1x2x?x?xf32>

// 1: half_pixel_centers = not alignCorners. Nothing reads the image that stands for inputSize, so it is gone.
func.func @upsample(%dy: tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32> {
  %out = cann.upsample_bilinear2d_backward %dy {outputSize = [6, 4], inputSize = [1, 2, 4, 3]} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
  func.return %out : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @upsample(
// CHECK-NEXT: %out = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [2, 3], step_denominators = [3, 4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %out : tensor<1x2x4x3xf32>

func.func @upsample_corners(%dy: tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32> {
  %out = cann.upsample_bilinear2d_backward %dy {outputSize = [6, 4], inputSize = [1, 2, 4, 3], alignCorners = true, scalesH = 2.0} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
  func.return %out : tensor<1x2x4x3xf32>
}
// CHECK-LABEL: func.func @upsample_corners(
// CHECK-NEXT: %out = grad.resize_backward %dy {axes = [2, 3], input_sizes = [4, 3], step_numerators = [3, 2], step_denominators = [5, 3], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x6x4xf32>) -> tensor<1x2x4x3xf32>
// CHECK-NEXT: func.return %out : tensor<1x2x4x3xf32>
