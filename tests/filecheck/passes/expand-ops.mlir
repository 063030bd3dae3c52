// RUN: gradc-opt %s -p 'expand-ops{target=cuda opset=20}' | filecheck %s

func.func @zeros_behind(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %pads = onnx.Constant dense<[0, 0, 0, 1]> : tensor<4xi64>
  %y = onnx.Pad %x, %pads : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @zeros_behind(
// CHECK-NEXT: %y = onnx.Constant dense<0.000000e+00> : tensor<2x1xf32>
// CHECK-NEXT: %y_1 = onnx.Concat %x, %y {axis = 1} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %y_1 : tensor<2x4xf32>

func.func @cut_and_filled(%x: tensor<?x3xf16, ["N", ""]>) -> tensor<?x4xf16> {
  %pads = onnx.Constant dense<[1, -1, 0, 2]> : tensor<4xi64>
  %one = onnx.Constant dense<1.0> : tensor<f16>
  %y = onnx.Pad %x, %pads, %one : (tensor<?x3xf16, ["N", ""]>, tensor<4xi64>, tensor<f16>) -> tensor<?x4xf16>
  func.return %y : tensor<?x4xf16>
}
// CHECK-LABEL: func.func @cut_and_filled(
// CHECK-NEXT: %one = onnx.Constant dense<1.000000e+00> : tensor<f16>
// CHECK-NEXT: %y = onnx.Constant dense<1.000000e+00> : tensor<1x3xf16>
// CHECK-NEXT: %y_1 = onnx.Concat %y, %x {axis = 0} : (tensor<1x3xf16>, tensor<?x3xf16, ["N", ""]>) -> tensor<?x3xf16, ["=N + 1", ""]>
// CHECK-NEXT: %y_2 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %y_3 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %y_4 = onnx.Slice %y_1, %y_2, %y_3, %y_2 : (tensor<?x3xf16, ["=N + 1", ""]>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x2xf16, ["=N + 1", ""]>
// CHECK-NEXT: %y_5 = onnx.Shape %y_4 : (tensor<?x2xf16, ["=N + 1", ""]>) -> tensor<2xi64>
// CHECK-NEXT: %y_6 = onnx.Expand %one, %y_5 : (tensor<f16>, tensor<2xi64>) -> tensor<?x2xf16, ["=N + 1", ""]>
// CHECK-NEXT: %y_7 = onnx.Concat %y_4, %y_6 {axis = 1} : (tensor<?x2xf16, ["=N + 1", ""]>, tensor<?x2xf16, ["=N + 1", ""]>) -> tensor<?x4xf16, ["=N + 1", ""]>
// CHECK-NEXT: func.return %y_7 : tensor<?x4xf16, ["=N + 1", ""]>

func.func @of_run_time(%x: tensor<4xf32>, %pads: tensor<2xi64>) -> tensor<?xf32> {
  %y = onnx.Pad %x, %pads : (tensor<4xf32>, tensor<2xi64>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
// CHECK-LABEL: func.func @of_run_time(
// CHECK-NEXT: %y = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %y_1 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %y_2 = onnx.Gather %pads, %y_1 {axis = 0} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_3 = onnx.Min %y_2, %y_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_4 = onnx.Sub %y_1, %y_3 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_5 = onnx.Constant dense<4> : tensor<1xi64>
// CHECK-NEXT: %y_6 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT: %y_7 = onnx.Gather %pads, %y_6 {axis = 0} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_8 = onnx.Min %y_7, %y_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_9 = onnx.Add %y_5, %y_8 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_10 = onnx.Slice %x, %y_4, %y_9, %y_1 : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
// CHECK-NEXT: %y_11 = onnx.Max %y_2, %y_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_12 = onnx.Expand %y, %y_11 : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
// CHECK-NEXT: %y_13 = onnx.Max %y_7, %y_1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %y_14 = onnx.Expand %y, %y_13 : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
// CHECK-NEXT: %y_15 = onnx.Concat %y_12, %y_10, %y_14 {axis = 0} : (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT: func.return %y_15 : tensor<?xf32>

func.func @equal(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi1> {
  %y = onnx.Equal %a, %b : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  func.return %y : tensor<4xi1>
}
// CHECK-LABEL: func.func @equal(
// CHECK-NEXT: %y = onnx.GreaterOrEqual %a, %b : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %y_1 = onnx.GreaterOrEqual %b, %a : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %y_2 = onnx.And %y, %y_1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
// CHECK-NEXT: func.return %y_2 : tensor<4xi1>

func.func @constant_of_shape(%sizes: tensor<2xi64>) -> tensor<?x?xf32> {
  %y = onnx.ConstantOfShape %sizes {value = dense<2.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @constant_of_shape(
// CHECK-NEXT: %y = onnx.Constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %y_1 = onnx.Expand %y, %sizes : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %y_1 : tensor<?x?xf32>

// With half types widened it has a kernel at opset 18, and none at 20.
func.func @bf16(%x: tensor<3xbf16>) -> tensor<4xbf16> {
  %pads = onnx.Constant dense<[0, 1]> : tensor<2xi64>
  %y = onnx.Pad %x, %pads : (tensor<3xbf16>, tensor<2xi64>) -> tensor<4xbf16>
  func.return %y : tensor<4xbf16>
}
// CHECK-LABEL: func.func @bf16(
// CHECK-NEXT: %y = onnx.Constant dense<0.000000e+00> : tensor<1xbf16>
// CHECK-NEXT: %y_1 = onnx.Concat %x, %y {axis = 0} : (tensor<3xbf16>, tensor<1xbf16>) -> tensor<4xbf16>
// CHECK-NEXT: func.return %y_1 : tensor<4xbf16>

// No other ops stand for it.
func.func @edge(%x: tensor<3xf32>) -> tensor<4xf32> {
  %pads = onnx.Constant dense<[0, 1]> : tensor<2xi64>
  %y = onnx.Pad %x, %pads {mode = "edge"} : (tensor<3xf32>, tensor<2xi64>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @edge(
// CHECK-NEXT: %pads = onnx.Constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT: %y = onnx.Pad %x, %pads {mode = "edge"} : (tensor<3xf32>, tensor<2xi64>) -> tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
