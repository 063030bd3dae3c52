// RUN: gradc-opt %s -p resize-axes-last,simplify | filecheck %s

// Channels last: the three channels lie behind what is resized.
func.func @colours(%dy: tensor<1x4x2x3xf32>) -> tensor<1x3x4x3xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [3, 4], step_numerators = [3, 2], step_denominators = [4, 1], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x4x2x3xf32>) -> tensor<1x3x4x3xf32>
  func.return %dx : tensor<1x3x4x3xf32>
}
// CHECK-LABEL: func.func @colours(
// CHECK-NEXT: %dx = onnx.Transpose %dy {perm = [0, 3, 1, 2], gradc.strategy = "resize-axes-last"} : (tensor<1x4x2x3xf32>) -> tensor<1x3x4x2xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<[[1.000000e+00, 3.750000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 6.250000e-01, 6.250000e-01, 0.000000e+00], [0.000000e+00, 0.000000e+00, 3.750000e-01, 1.000000e+00]]> : tensor<3x4xf32>
// CHECK-NEXT: %dx_2 = onnx.MatMul %dx_1, %dx {gradc.strategy = "resize-axes-last"} : (tensor<3x4xf32>, tensor<1x3x4x2xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-axes-last"} dense<[[5.000000e-01, 5.000000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 5.000000e-01, 5.000000e-01]]> : tensor<2x4xf32>
// CHECK-NEXT: %dx_4 = onnx.MatMul %dx_2, %dx_3 {gradc.strategy = "resize-axes-last"} : (tensor<1x3x3x2xf32>, tensor<2x4xf32>) -> tensor<1x3x3x4xf32>
// CHECK-NEXT: %dx_5 = onnx.Transpose %dx_4 {perm = [0, 2, 3, 1], gradc.strategy = "resize-axes-last"} : (tensor<1x3x3x4xf32>) -> tensor<1x3x4x3xf32>
// CHECK-NEXT: func.return %dx_5 : tensor<1x3x4x3xf32>

// One channel: in either order the tensor is the same.
func.func @grey(%dy: tensor<2x4x2x1xf32>) -> tensor<2x3x4x1xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [3, 4], step_numerators = [3, 2], step_denominators = [4, 1], interpolation = "linear", coordinates = "half_pixel"} : (tensor<2x4x2x1xf32>) -> tensor<2x3x4x1xf32>
  func.return %dx : tensor<2x3x4x1xf32>
}
// CHECK-LABEL: func.func @grey(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-axes-last"} dense<[2, 1, 4, 2]> : tensor<4xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-axes-last"} : (tensor<2x4x2x1xf32>, tensor<4xi64>) -> tensor<2x1x4x2xf32>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<[[1.000000e+00, 3.750000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 6.250000e-01, 6.250000e-01, 0.000000e+00], [0.000000e+00, 0.000000e+00, 3.750000e-01, 1.000000e+00]]> : tensor<3x4xf32>
// CHECK-NEXT: %dx_3 = onnx.MatMul %dx_2, %dx_1 {gradc.strategy = "resize-axes-last"} : (tensor<3x4xf32>, tensor<2x1x4x2xf32>) -> tensor<2x1x3x2xf32>
// CHECK-NEXT: %dx_4 = onnx.Constant {gradc.strategy = "resize-axes-last"} dense<[[5.000000e-01, 5.000000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 5.000000e-01, 5.000000e-01]]> : tensor<2x4xf32>
// CHECK-NEXT: %dx_5 = onnx.MatMul %dx_3, %dx_4 {gradc.strategy = "resize-axes-last"} : (tensor<2x1x3x2xf32>, tensor<2x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-axes-last"} dense<[2, 3, 4, 1]> : tensor<4xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_5, %dx_6 {gradc.strategy = "resize-axes-last"} : (tensor<2x1x3x4xf32>, tensor<4xi64>) -> tensor<2x3x4x1xf32>
// CHECK-NEXT: func.return %dx_7 : tensor<2x3x4x1xf32>

// One axis, the first of two; an unknown batch stays in front.
func.func @rows(%dy: tensor<?x4x5xf32>) -> tensor<?x3x5xf32> {
  %dx = grad.resize_backward %dy {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<?x4x5xf32>) -> tensor<?x3x5xf32>
  func.return %dx : tensor<?x3x5xf32>
}
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %dx = onnx.Transpose %dy {perm = [0, 2, 1], gradc.strategy = "resize-axes-last"} : (tensor<?x4x5xf32>) -> tensor<?x5x4xf32>
// CHECK-NEXT: %dx_1 = onnx.Constant {gradc.strategy = "resize-axes-last"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %dx_2 = onnx.Constant dense<[[[1.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 1.000000e+00]]]> : tensor<1x4x3xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-axes-last"} dense<1> : tensor<1xi64>
// CHECK-NEXT: %dx_4 = onnx.Shape %dy : (tensor<?x4x5xf32>) -> tensor<3xi64>
// CHECK-NEXT: %dx_5 = onnx.Gather %dx_4, %dx_1 {axis = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_6 = onnx.Min %dx_5, %dx_3 {gradc.strategy = "resize-axes-last"} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Slice %dx_2, %dx_1, %dx_6, %dx_1 {gradc.strategy = "resize-axes-last"} : (tensor<1x4x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x4x3xf32>
// CHECK-NEXT: %dx_8 = onnx.MatMul %dx, %dx_7 {gradc.strategy = "resize-axes-last"} : (tensor<?x5x4xf32>, tensor<?x4x3xf32>) -> tensor<?x5x3xf32>
// CHECK-NEXT: %dx_9 = onnx.Transpose %dx_8 {perm = [0, 2, 1], gradc.strategy = "resize-axes-last"} : (tensor<?x5x3xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<?x3x5xf32>

// Nothing behind, and many columns behind: refused.
func.func @refused(%dy: tensor<1x3x4x2xf32>, %many: tensor<1x4x17xf32>) -> (tensor<1x3x3x4xf32>, tensor<1x3x17xf32>) {
  %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [3, 4], step_numerators = [3, 2], step_denominators = [4, 1], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x4x2xf32>) -> tensor<1x3x3x4xf32>
  %dz = grad.resize_backward %many {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x4x17xf32>) -> tensor<1x3x17xf32>
  func.return %dx, %dz : tensor<1x3x3x4xf32>, tensor<1x3x17xf32>
}
// CHECK-LABEL: func.func @refused(
// CHECK-NEXT: %dx = grad.resize_backward %dy {axes = [2, 3], input_sizes = [3, 4], step_numerators = [3, 2], step_denominators = [4, 1], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x3x4x2xf32>) -> tensor<1x3x3x4xf32>
// CHECK-NEXT: %dz = grad.resize_backward %many {axes = [1], input_sizes = [3], step_numerators = [3], step_denominators = [4], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x4x17xf32>) -> tensor<1x3x17xf32>
// CHECK-NEXT: func.return %dx, %dz : tensor<1x3x3x4xf32>, tensor<1x3x17xf32>
