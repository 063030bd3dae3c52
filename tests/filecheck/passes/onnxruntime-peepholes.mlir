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

func.func @columns(%a: tensor<1024x20xf32>, %b: tensor<1024x1xf32>) -> tensor<1x20xf32> {
  %product = onnx.Mul %a, %b : (tensor<1024x20xf32>, tensor<1024x1xf32>) -> tensor<1024x20xf32>
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %sum = onnx.ReduceSum %product, %axes : (tensor<1024x20xf32>, tensor<1xi64>) -> tensor<1x20xf32>
  func.return %sum : tensor<1x20xf32>
}
// CHECK-LABEL: func.func @columns(
// CHECK-NEXT: %axes = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %sum = onnx.Constant dense<[1, 1024]> : tensor<2xi64>
// CHECK-NEXT: %sum_1 = onnx.Reshape %b, %sum : (tensor<1024x1xf32>, tensor<2xi64>) -> tensor<1x1024xf32>
// CHECK-NEXT: %sum_2 = onnx.MatMul %sum_1, %a : (tensor<1x1024xf32>, tensor<1024x20xf32>) -> tensor<1x20xf32>
// CHECK-NEXT: func.return %sum_2 : tensor<1x20xf32>

func.func @parts(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) -> tensor<4x6xf32> {
  %behind = onnx.Constant dense<[0, 0, 0, 4]> : tensor<4xi64>
  %around = onnx.Constant dense<[0, 2, 0, 1]> : tensor<4xi64>
  %first = onnx.Pad %a, %behind : (tensor<4x2xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %second = onnx.Pad %b, %around : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4x6xf32>
  %sum = onnx.Add %first, %second : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %sum : tensor<4x6xf32>
}
// CHECK-LABEL: func.func @parts(
// CHECK-NEXT: %behind = onnx.Constant dense<[0, 0, 0, 4]> : tensor<4xi64>
// CHECK-NEXT: %around = onnx.Constant dense<[0, 2, 0, 1]> : tensor<4xi64>
// CHECK-NEXT: %sum = onnx.Concat %a, %b {axis = 1} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: %sum_1 = onnx.Constant dense<[0, 0, 0, 1]> : tensor<4xi64>
// CHECK-NEXT: %sum_2 = onnx.Pad %sum, %sum_1 : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %sum_2 : tensor<4x6xf32>

func.func @many(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = onnx.Softplus %x : (tensor<1024xf32>) -> tensor<1024xf32>
  func.return %y : tensor<1024xf32>
}
// CHECK-LABEL: func.func @many(
// CHECK-NEXT: %y = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %y_1 = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %y_2 = onnx.Abs %x : (tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_3 = onnx.Neg %y_2 : (tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_4 = onnx.Exp %y_3 : (tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_5 = onnx.Add %y_1, %y_4 : (tensor<f32>, tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_6 = onnx.Sub %y_5, %y_1 : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_7 = onnx.Sub %y_4, %y_6 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_8 = onnx.Log %y_5 : (tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_9 = onnx.Add %y_8, %y_7 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_10 = onnx.Max %x, %y : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
// CHECK-NEXT: %y_11 = onnx.Add %y_10, %y_9 : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: func.return %y_11 : tensor<1024xf32>

func.func @few(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = onnx.Softplus %x : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @few(
// CHECK-NEXT: %y = onnx.Softplus %x : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: func.return %y : tensor<8xf32>
