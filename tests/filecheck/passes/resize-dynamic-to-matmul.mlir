// RUN: gradc-opt %s -p resize-dynamic-to-matmul,simplify | filecheck %s
// The sequence of the arithmetic; that the numbers are right is a property test's business.

// Row y of the matrix has 1 - f at floor t and f behind it, t = ((2 y + 1) n - q) / 2 q clamped.
func.func @linear_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @linear_half_pixel(
// CHECK: = onnx.Range
// CHECK: = onnx.Mul
// CHECK: = onnx.Add
// CHECK: = onnx.Mul
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Range
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Max
// CHECK: = onnx.Min
// CHECK: = onnx.Div
// CHECK: = onnx.Add
// CHECK: = onnx.Max
// CHECK: = onnx.Min
// CHECK: = onnx.Mul
// CHECK: = onnx.Sub
// CHECK: = onnx.Cast
// CHECK: = onnx.Cast
// CHECK: = onnx.Div
// CHECK: = onnx.Sub
// CHECK: = onnx.Cast
// CHECK: = onnx.Equal
// CHECK: = onnx.Cast
// CHECK: = onnx.Mul
// CHECK: = onnx.Cast
// CHECK: = onnx.Equal
// CHECK: = onnx.Cast
// CHECK: = onnx.Mul
// CHECK: = onnx.Add
// CHECK: = onnx.MatMul %dy,
// CHECK-NEXT: func.return

// t = y n / q.
func.func @linear_corner(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "linear", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @linear_corner(
// CHECK: = onnx.Range
// CHECK: = onnx.Mul
// CHECK: = onnx.Range
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Max
// CHECK: = onnx.Min
// CHECK: = onnx.Div
// CHECK: = onnx.Add
// CHECK: = onnx.Max
// CHECK: = onnx.Min
// CHECK: = onnx.Mul
// CHECK: = onnx.Sub
// CHECK: = onnx.Cast
// CHECK: = onnx.Cast
// CHECK: = onnx.Div
// CHECK: = onnx.Sub
// CHECK: = onnx.Cast
// CHECK: = onnx.Equal
// CHECK: = onnx.Cast
// CHECK: = onnx.Mul
// CHECK: = onnx.Cast
// CHECK: = onnx.Equal
// CHECK: = onnx.Cast
// CHECK: = onnx.Mul
// CHECK: = onnx.Add
// CHECK: = onnx.MatMul %dy,
// CHECK-NEXT: func.return

// floor(t + 1/2).
func.func @nearest_half_up_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_half_up", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_half_up_half_pixel(
// CHECK: = onnx.Range
// CHECK: = onnx.Mul
// CHECK: = onnx.Add
// CHECK: = onnx.Mul
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Range
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Add
// CHECK: = onnx.Mul
// CHECK: = onnx.Div
// CHECK: = onnx.Max
// CHECK: = onnx.Min
// CHECK: = onnx.Equal
// CHECK: = onnx.Cast
// CHECK: = onnx.MatMul %dy,
// CHECK-NEXT: func.return

// ceil(t - 1/2).
func.func @nearest_half_down_half_pixel(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_half_down", coordinates = "half_pixel"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_half_down_half_pixel(
// CHECK: = onnx.Range
// CHECK: = onnx.Mul
// CHECK: = onnx.Add
// CHECK: = onnx.Mul
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Range
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Add
// CHECK: = onnx.Sub
// CHECK: = onnx.Mul
// CHECK: = onnx.Div
// CHECK: = onnx.Max
// CHECK: = onnx.Min
// CHECK: = onnx.Equal
// CHECK: = onnx.Cast
// CHECK: = onnx.MatMul %dy,
// CHECK-NEXT: func.return

// floor t.
func.func @nearest_floor_corner(%dy: tensor<1x2x?xf32>, %x: tensor<1xi64>, %n: tensor<1xi64>, %q: tensor<1xi64>) -> tensor<1x2x?xf32> {
  %dx = grad.resize_backward_dynamic %dy, %x, %n, %q {axes = [2], interpolation = "nearest_floor", coordinates = "corner"} : (tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?xf32>
  func.return %dx : tensor<1x2x?xf32>
}
// CHECK-LABEL: func.func @nearest_floor_corner(
// CHECK: = onnx.Range
// CHECK: = onnx.Mul
// CHECK: = onnx.Range
// CHECK: = onnx.Sub
// CHECK: = onnx.Div
// CHECK: = onnx.Max
// CHECK: = onnx.Min
// CHECK: = onnx.Equal
// CHECK: = onnx.Cast
// CHECK: = onnx.MatMul %dy,
// CHECK-NEXT: func.return
