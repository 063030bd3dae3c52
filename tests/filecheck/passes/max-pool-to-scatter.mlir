// RUN: gradc-opt %s -p max-pool-to-scatter,simplify | filecheck %s

// Places count through x with the lowest number around it; the same is cut off the sums.
func.func @scatter(%x: tensor<1x4x7xf32>, %dy: tensor<1x4x4xf32>) -> tensor<1x4x7xf32> {
  %dx = grad.max_pool_backward %x, %dy {kernel = [3], strides = [2], dilations = [1], pads_begin = [1], layout = "NCX"} : (tensor<1x4x7xf32>, tensor<1x4x4xf32>) -> tensor<1x4x7xf32>
  func.return %dx : tensor<1x4x7xf32>
}
// CHECK-LABEL: func.func @scatter(
// CHECK-NEXT: %dx = onnx.Constant {gradc.strategy = "max-pool-to-scatter"} dense<"0x000080FF"> : tensor<f32>
// CHECK-NEXT: %dx_1 = onnx.Constant dense<[0, 0, 1, 0, 0, 1]> : tensor<6xi64>
// CHECK-NEXT: %dx_2 = onnx.Pad %x, %dx_1, %dx {gradc.strategy = "max-pool-to-scatter"} : (tensor<1x4x7xf32>, tensor<6xi64>, tensor<f32>) -> tensor<1x4x9xf32>
// CHECK-NEXT: %dx_3, %dx_4 = onnx.MaxPool %dx_2 {kernel_shape = [3], strides = [2], gradc.strategy = "max-pool-to-scatter"} : (tensor<1x4x9xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xi64>)
// CHECK-NEXT: %dx_5 = onnx.Constant {gradc.strategy = "max-pool-to-scatter"} dense<[1, 4, 9]> : tensor<3xi64>
// CHECK-NEXT: %dx_6 = onnx.Constant {gradc.strategy = "max-pool-to-scatter"} dense<-1> : tensor<1xi64>
// CHECK-NEXT: %dx_7 = onnx.Constant dense<0.000000e+00> : tensor<36xf32>
// CHECK-NEXT: %dx_8 = onnx.Reshape %dx_4, %dx_6 {gradc.strategy = "max-pool-to-scatter"} : (tensor<1x4x4xi64>, tensor<1xi64>) -> tensor<16xi64>
// CHECK-NEXT: %dx_9 = onnx.Reshape %dy, %dx_6 {gradc.strategy = "max-pool-to-scatter"} : (tensor<1x4x4xf32>, tensor<1xi64>) -> tensor<16xf32>
// CHECK-NEXT: %dx_10 = onnx.ScatterElements %dx_7, %dx_8, %dx_9 {axis = 0, reduction = "add", gradc.strategy = "max-pool-to-scatter"} : (tensor<36xf32>, tensor<16xi64>, tensor<16xf32>) -> tensor<36xf32>
// CHECK-NEXT: %dx_11 = onnx.Reshape %dx_10, %dx_5 {gradc.strategy = "max-pool-to-scatter"} : (tensor<36xf32>, tensor<3xi64>) -> tensor<1x4x9xf32>
// CHECK-NEXT: %dx_12 = onnx.Constant dense<[0, 0, -1, 0, 0, -1]> : tensor<6xi64>
// CHECK-NEXT: %dx_13 = onnx.Pad %dx_11, %dx_12 {gradc.strategy = "max-pool-to-scatter"} : (tensor<1x4x9xf32>, tensor<6xi64>) -> tensor<1x4x7xf32>
// CHECK-NEXT: func.return %dx_13 : tensor<1x4x7xf32>
