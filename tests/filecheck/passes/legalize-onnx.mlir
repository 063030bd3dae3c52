// RUN: gradc-opt %s -p legalize-onnx | filecheck %s
// RUN: gradc-opt %s -p 'legalize-onnx{target=cuda opset=20}' | filecheck %s

// What the target can run is left as it is.
func.func @accepted(%x: tensor<?x3xf32, ["N", ""]>) -> tensor<?x2xf32, ["N", ""]> {
  %w = onnx.Constant dense<1.5> : tensor<3x2xf32>
  %y = onnx.MatMul %x, %w {gradc.strategy = "conv-to-matmul"} : (tensor<?x3xf32, ["N", ""]>, tensor<3x2xf32>) -> tensor<?x2xf32, ["N", ""]>
  func.return %y : tensor<?x2xf32, ["N", ""]>
}
// CHECK-LABEL: func.func @accepted(
// CHECK-NEXT: %w = onnx.Constant dense<1.500000e+00> : tensor<3x2xf32>
// CHECK-NEXT: %y = onnx.MatMul %x, %w {gradc.strategy = "conv-to-matmul"} : (tensor<?x3xf32, ["N", ""]>, tensor<3x2xf32>) -> tensor<?x2xf32, ["N", ""]>
// CHECK-NEXT: func.return %y : tensor<?x2xf32, ["N", ""]>

// A constant needs no kernel: the runtime reads it.
func.func @constant() -> tensor<2xbf16> {
  %w = onnx.Constant dense<[1.5, 2.5]> : tensor<2xbf16>
  func.return %w : tensor<2xbf16>
}
// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %w = onnx.Constant dense<[1.500000e+00, 2.500000e+00]> : tensor<2xbf16>
// CHECK-NEXT: func.return %w : tensor<2xbf16>

func.func @nothing(%x: tensor<2xf16>) -> tensor<2xf16> {
  func.return %x : tensor<2xf16>
}
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: func.return %x : tensor<2xf16>
