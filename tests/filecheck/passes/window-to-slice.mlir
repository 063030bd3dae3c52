// RUN: gradc-opt %s -p window-to-slice,simplify | filecheck %s

// Zeros up to the end begin + size of the window, where the data ends before, then the window.
func.func @window(%x: tensor<1x2x9x?xf32>, %b: tensor<2xi64>, %s: tensor<2xi64>) -> tensor<1x2x?x?xf32> {
  %r = grad.take_window %x, %b, %s {axes = [2, 3]} : (tensor<1x2x9x?xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x?x?xf32>
  func.return %r : tensor<1x2x?x?xf32>
}
// CHECK-LABEL: func.func @window(
// CHECK-NEXT: %r = onnx.Add %b, %s {gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_1 = onnx.Shape %x {gradc.strategy = "window-to-slice"} : (tensor<1x2x9x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %r_2 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %r_3 = onnx.Gather %r_1, %r_2 {axis = 0, gradc.strategy = "window-to-slice"} : (tensor<4xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_4 = onnx.Sub %r, %r_3 {gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_5 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %r_6 = onnx.Max %r_4, %r_5 {gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_7 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<0> : tensor<4xi64>
// CHECK-NEXT: %r_8 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<0> : tensor<2xi64>
// CHECK-NEXT: %r_9 = onnx.Concat %r_7, %r_8, %r_6 {axis = 0} : (tensor<4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<8xi64>
// CHECK-NEXT: %r_10 = onnx.Pad %x, %r_9 {gradc.strategy = "window-to-slice"} : (tensor<1x2x9x?xf32>, tensor<8xi64>) -> tensor<1x2x?x?xf32>
// CHECK-NEXT: %r_11 = onnx.Slice %r_10, %b, %r, %r_2 {gradc.strategy = "window-to-slice"} : (tensor<1x2x?x?xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x?x?xf32>
// CHECK-NEXT: func.return %r_11 : tensor<1x2x?x?xf32>

// Axes in any order.
func.func @other_axes(%x: tensor<1x9x2x9xf32>, %b: tensor<2xi64>, %s: tensor<2xi64>) -> tensor<1x?x2x?xf32> {
  %r = grad.take_window %x, %b, %s {axes = [3, 1]} : (tensor<1x9x2x9xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x?x2x?xf32>
  func.return %r : tensor<1x?x2x?xf32>
}
// CHECK-LABEL: func.func @other_axes(
// CHECK-NEXT: %r = onnx.Add %b, %s {gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_1 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<9> : tensor<2xi64>
// CHECK-NEXT: %r_2 = onnx.Sub %r, %r_1 {gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_3 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<0> : tensor<1xi64>
// CHECK-NEXT: %r_4 = onnx.Max %r_2, %r_3 {gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_5 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<0> : tensor<4xi64>
// CHECK-NEXT: %r_6 = onnx.Concat %r_4, %r_3 {axis = 0, gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT: %r_7 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<[2, 1, 2, 0]> : tensor<4xi64>
// CHECK-NEXT: %r_8 = onnx.Gather %r_6, %r_7 {axis = 0, gradc.strategy = "window-to-slice"} : (tensor<3xi64>, tensor<4xi64>) -> tensor<4xi64>
// CHECK-NEXT: %r_9 = onnx.Concat %r_5, %r_8 {axis = 0, gradc.strategy = "window-to-slice"} : (tensor<4xi64>, tensor<4xi64>) -> tensor<8xi64>
// CHECK-NEXT: %r_10 = onnx.Pad %x, %r_9 {gradc.strategy = "window-to-slice"} : (tensor<1x9x2x9xf32>, tensor<8xi64>) -> tensor<1x?x2x?xf32>
// CHECK-NEXT: %r_11 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<[3, 1]> : tensor<2xi64>
// CHECK-NEXT: %r_12 = onnx.Slice %r_10, %b, %r, %r_11 {gradc.strategy = "window-to-slice"} : (tensor<1x?x2x?xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x?x2x?xf32>
// CHECK-NEXT: func.return %r_12 : tensor<1x?x2x?xf32>

// Only the end is to be mended.
func.func @from_the_start(%x: tensor<1x2x9x?xf32>, %s: tensor<2xi64>) -> tensor<1x2x?x?xf32> {
  %b = onnx.Constant dense<0> : tensor<2xi64>
  %r = grad.take_window %x, %b, %s {axes = [2, 3]} : (tensor<1x2x9x?xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2x?x?xf32>
  func.return %r : tensor<1x2x?x?xf32>
}
// CHECK-LABEL: func.func @from_the_start(
// CHECK-NEXT: %r = onnx.Shape %x {gradc.strategy = "window-to-slice"} : (tensor<1x2x9x?xf32>) -> tensor<4xi64>
// CHECK-NEXT: %r_1 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT: %r_2 = onnx.Gather %r, %r_1 {axis = 0, gradc.strategy = "window-to-slice"} : (tensor<4xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_3 = onnx.Sub %s, %r_2 {gradc.strategy = "window-to-slice"} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
// CHECK-NEXT: %r_4 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<0> : tensor<4xi64>
// CHECK-NEXT: %r_5 = onnx.Constant {gradc.strategy = "window-to-slice"} dense<0> : tensor<2xi64>
// CHECK-NEXT: %r_6 = onnx.Concat %r_4, %r_5, %r_3 {axis = 0} : (tensor<4xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<8xi64>
// CHECK-NEXT: %r_7 = onnx.Pad %x, %r_6 {gradc.strategy = "window-to-slice"} : (tensor<1x2x9x?xf32>, tensor<8xi64>) -> tensor<1x2x?x?xf32>
// CHECK-NEXT: func.return %r_7 : tensor<1x2x?x?xf32>
