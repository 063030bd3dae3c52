// RUN: gradc-opt %s -p resize-to-pool,simplify | filecheck %s

// Channels last, factors 2 and 3: images of one channel, pooled over two axes of three.
func.func @nearest(%dy: tensor<1x4x6x5xf32>) -> tensor<1x2x2x5xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2], input_sizes = [2, 2], step_numerators = [1, 1], step_denominators = [2, 3], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x4x6x5xf32>) -> tensor<1x2x2x5xf32>
  func.return %dx : tensor<1x2x2x5xf32>
}
// CHECK-LABEL: func.func @nearest(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-pool"} dense<[1, 1, 4, 6, 5]> : tensor<5xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-pool"} : (tensor<1x4x6x5xf32>, tensor<5xi64>) -> tensor<1x1x4x6x5xf32>
// CHECK-NEXT: %dx_2 = onnx.AveragePool %dx_1 {kernel_shape = [2, 3, 1], strides = [2, 3, 1], gradc.strategy = "resize-to-pool"} : (tensor<1x1x4x6x5xf32>) -> tensor<1x1x2x2x5xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-to-pool"} dense<[1, 2, 2, 5]> : tensor<4xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 {gradc.strategy = "resize-to-pool"} : (tensor<1x1x2x2x5xf32>, tensor<4xi64>) -> tensor<1x2x2x5xf32>
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "resize-to-pool"} dense<6.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx_6 = onnx.Mul %dx_4, %dx_5 {gradc.strategy = "resize-to-pool"} : (tensor<1x2x2x5xf32>, tensor<f32>) -> tensor<1x2x2x5xf32>
// CHECK-NEXT: func.return %dx_6 : tensor<1x2x2x5xf32>

// Three axes and the channels are more than AveragePool takes: the first axis is pooled on its own.
func.func @volume(%dy: tensor<1x4x4x2x5xf32>) -> tensor<1x2x2x1x5xf32> {
  %dx = grad.resize_backward %dy {axes = [1, 2, 3], input_sizes = [2, 2, 1], step_numerators = [1, 1, 1], step_denominators = [2, 2, 2], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x4x4x2x5xf32>) -> tensor<1x2x2x1x5xf32>
  func.return %dx : tensor<1x2x2x1x5xf32>
}
// CHECK-LABEL: func.func @volume(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "resize-to-pool"} dense<[4, 1, 4, 2, 5]> : tensor<5xi64>
// CHECK-NEXT: %dx_1 = onnx.Reshape %dy, %dx {gradc.strategy = "resize-to-pool"} : (tensor<1x4x4x2x5xf32>, tensor<5xi64>) -> tensor<4x1x4x2x5xf32>
// CHECK-NEXT: %dx_2 = onnx.AveragePool %dx_1 {kernel_shape = [2, 2, 1], strides = [2, 2, 1], gradc.strategy = "resize-to-pool"} : (tensor<4x1x4x2x5xf32>) -> tensor<4x1x2x1x5xf32>
// CHECK-NEXT: %dx_3 = onnx.Constant {gradc.strategy = "resize-to-pool"} dense<[1, 1, 4, 2, 5]> : tensor<5xi64>
// CHECK-NEXT: %dx_4 = onnx.Reshape %dx_2, %dx_3 : (tensor<4x1x2x1x5xf32>, tensor<5xi64>) -> tensor<1x1x4x2x5xf32>
// CHECK-NEXT: %dx_5 = onnx.AveragePool %dx_4 {kernel_shape = [2, 1, 1], strides = [2, 1, 1], gradc.strategy = "resize-to-pool"} : (tensor<1x1x4x2x5xf32>) -> tensor<1x1x2x2x5xf32>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "resize-to-pool"} dense<[1, 2, 2, 1, 5]> : tensor<5xi64>
// CHECK-NEXT: %dx_7 = onnx.Reshape %dx_5, %dx_6 {gradc.strategy = "resize-to-pool"} : (tensor<1x1x2x2x5xf32>, tensor<5xi64>) -> tensor<1x2x2x1x5xf32>
// CHECK-NEXT: %dx_8 = onnx.Constant {gradc.strategy = "resize-to-pool"} dense<8.000000e+00> : tensor<f32>
// CHECK-NEXT: %dx_9 = onnx.Mul %dx_7, %dx_8 {gradc.strategy = "resize-to-pool"} : (tensor<1x2x2x1x5xf32>, tensor<f32>) -> tensor<1x2x2x1x5xf32>
// CHECK-NEXT: func.return %dx_9 : tensor<1x2x2x1x5xf32>
