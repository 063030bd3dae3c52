// RUN: gradc-opt %s -p 'onnxruntime-peepholes{target=cpu opset=18}' | filecheck %s

func.func @positive(%x: tensor<2x3xf32>, %g: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %above = onnx.Greater %x, %zero : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %mask = onnx.Cast %above {to = f32, gradc.mask} : (tensor<2x3xi1>) -> tensor<2x3xf32>
  %dx = onnx.Mul %g, %mask : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %dx : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @positive(
// CHECK-NEXT: %zero = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %mask = onnx.HardSigmoid %x {alpha = 3.400000e+38 : f32, beta = 0.000000e+00 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %dx = onnx.Mul %g, %mask : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %dx : tensor<2x3xf32>

func.func @below(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %below = onnx.Less %x, %three : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %mask = onnx.Cast %below {gradc.mask, to = f32} : (tensor<2x3xi1>) -> tensor<2x3xf32>
  func.return %mask : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @below(
// CHECK-NEXT: %three = onnx.Constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: %mask = onnx.HardSigmoid %x {alpha = 0xCB000000 : f32, beta = 0x4BC00000 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %mask : tensor<2x3xf32>

func.func @read_twice(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %below = onnx.Less %x, %three : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %mask = onnx.Cast %below {gradc.mask, to = f32} : (tensor<2x3xi1>) -> tensor<2x3xf32>
  func.return %mask, %below : tensor<2x3xf32>, tensor<2x3xi1>
}
// CHECK-LABEL: func.func @read_twice(
// CHECK-NEXT: %three = onnx.Constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: %below = onnx.Less %x, %three : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %mask = onnx.Cast %below {to = f32, gradc.mask = unit} : (tensor<2x3xi1>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %mask, %below : tensor<2x3xf32>, tensor<2x3xi1>

func.func @sizes(%x: tensor<?x3x?x?xf32>) -> (tensor<2xi64>, tensor<2xi64>) {
  %sizes = onnx.Shape %x : (tensor<?x3x?x?xf32>) -> tensor<4xi64>
  %places = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %spatial = onnx.Gather %sizes, %places {axis = 0} : (tensor<4xi64>, tensor<2xi64>) -> tensor<2xi64>
  %apart = onnx.Constant dense<[0, 3]> : tensor<2xi64>
  %ends = onnx.Gather %sizes, %apart {axis = 0} : (tensor<4xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return %spatial, %ends : tensor<2xi64>, tensor<2xi64>
}
// CHECK-LABEL: func.func @sizes(
// CHECK-NEXT: %sizes = onnx.Shape %x : (tensor<?x3x?x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %places = onnx.Constant dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %spatial = onnx.Shape %x {end = 4, start = 2} : (tensor<?x3x?x?xf32>) -> tensor<2xi64>
// CHECK-NEXT: %apart = onnx.Constant dense<[0, 3]> : tensor<2xi64>
// CHECK-NEXT: %ends = onnx.Gather %sizes, %apart {axis = 0} : (tensor<4xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: func.return %spatial, %ends : tensor<2xi64>, tensor<2xi64>

func.func @of_the_source(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %below = onnx.Less %x, %three : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %mask = onnx.Cast %below {to = f32} : (tensor<2x3xi1>) -> tensor<2x3xf32>
  func.return %mask : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @of_the_source(
// CHECK-NEXT: %three = onnx.Constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: %below = onnx.Less %x, %three : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT: %mask = onnx.Cast %below {to = f32} : (tensor<2x3xi1>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %mask : tensor<2x3xf32>
