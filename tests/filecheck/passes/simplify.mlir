// RUN: gradc-opt %s -p simplify | filecheck %s

func.func @fold(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = onnx.Constant dense<[10.0, 20.0]> : tensor<2xf32>
  %c = onnx.Add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = onnx.Mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK-LABEL: func.func @fold(
// CHECK-NEXT: %c = onnx.Constant dense<[1.100000e+01, 2.200000e+01]> : tensor<2xf32>
// CHECK-NEXT: %y = onnx.Mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y : tensor<2xf32>

// Sizes that the types know.
func.func @sizes(%x: tensor<3x5xf32>) -> tensor<2xi64> {
  %s = onnx.Shape %x : (tensor<3x5xf32>) -> tensor<2xi64>
  func.return %s : tensor<2xi64>
}
// CHECK-LABEL: func.func @sizes(
// CHECK-NEXT: %s = onnx.Constant dense<[3, 5]> : tensor<2xi64>
// CHECK-NEXT: func.return %s : tensor<2xi64>

func.func @common(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: func.func @common(
// CHECK-NEXT: %a = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %a, %a : tensor<2xf32>, tensor<2xf32>

func.func @dead(%x: tensor<1x2x4xf32>, %dy: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
  %a = onnx.Neg %dy : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %dx = onednn.interpolate_backward %x, %a {mode = "nearest", sizes = [3]} : (tensor<1x2x4xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  func.return %dy : tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @dead(
// CHECK-NEXT: func.return %dy : tensor<1x3x4xf32>

func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %a = onnx.Transpose %x {perm = [0, 2, 1]} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %b = onnx.Transpose %a {perm = [1, 0, 2]} : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
  func.return %b : tensor<4x2x3xf32>
}
// CHECK-LABEL: func.func @transposes(
// CHECK-NEXT: %b = onnx.Transpose %x {perm = [2, 0, 1]} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT: func.return %b : tensor<4x2x3xf32>

// bf16 holds no f32, so the second Cast back stays; f32 holds every bf16.
func.func @casts(%x: tensor<2xf32>, %h: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xbf16>) {
  %a = onnx.Cast %x {to = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
  %b = onnx.Cast %a {to = f32} : (tensor<2xbf16>) -> tensor<2xf32>
  %c = onnx.Cast %h {to = f32} : (tensor<2xbf16>) -> tensor<2xf32>
  %d = onnx.Cast %c {to = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
  func.return %b, %d : tensor<2xf32>, tensor<2xbf16>
}
// CHECK-LABEL: func.func @casts(
// CHECK-NEXT: %a = onnx.Cast %x {to = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
// CHECK-NEXT: %b = onnx.Cast %a {to = f32} : (tensor<2xbf16>) -> tensor<2xf32>
// CHECK-NEXT: func.return %b, %h : tensor<2xf32>, tensor<2xbf16>

// Sizes that nobody could know when the op was made, and what hangs on them.
func.func @refined(%x: tensor<5xf32>, %unused: tensor<3xf32>) -> tensor<5xf32> {
  %a = onnx.Constant dense<0> : tensor<i64>
  %b = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %c = onnx.Constant dense<1> : tensor<i64>
  %s = onnx.ReduceSum %b {keepdims = 0} : (tensor<2xi64>) -> tensor<i64>
  %r = onnx.Range %a, %s, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %e = onnx.Cast %r {to = f32} : (tensor<?xi64>) -> tensor<?xf32>
  %y = onnx.Add %x, %e : (tensor<5xf32>, tensor<?xf32>) -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
// CHECK-LABEL: func.func @refined(
// CHECK-NEXT: %e = onnx.Constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<5xf32>
// CHECK-NEXT: %y = onnx.Add %x, %e : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
// CHECK-NEXT: func.return %y : tensor<5xf32>

// What no output needs is gone, whatever else its operands are for; inputs stay.
func.func @unneeded(%x: tensor<5xf32>, %unused: tensor<3xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = onnx.Neg %x : (tensor<5xf32>) -> tensor<5xf32>
  %1 = onnx.Abs %0 : (tensor<5xf32>) -> tensor<5xf32>
  %2 = onnx.Mul %1, %0 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  %3 = onnx.Floor %2 : (tensor<5xf32>) -> tensor<5xf32>
  func.return %0, %1 : tensor<5xf32>, tensor<5xf32>
}
// CHECK-LABEL: func.func @unneeded(
// CHECK-NEXT: %0 = onnx.Neg %x : (tensor<5xf32>) -> tensor<5xf32>
// CHECK-NEXT: %1 = onnx.Abs %0 : (tensor<5xf32>) -> tensor<5xf32>
// CHECK-NEXT: func.return %0, %1 : tensor<5xf32>, tensor<5xf32>

// The same where they had a name.
func.func @named(%x: tensor<2x3xf32>) -> (tensor<i64>, tensor<?xf32, ["N"]>) {
  %s = onnx.Constant dense<[6]> : tensor<1xi64>
  %r = onnx.Reshape %x, %s : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32, ["N"]>
  %n = onnx.Shape %r : (tensor<?xf32, ["N"]>) -> tensor<1xi64>
  %c = onnx.ReduceSum %n {keepdims = 0} : (tensor<1xi64>) -> tensor<i64>
  func.return %c, %r : tensor<i64>, tensor<?xf32, ["N"]>
}
// CHECK-LABEL: func.func @named(
// CHECK-NEXT: %s = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-NEXT: %r = onnx.Reshape %x, %s : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
// CHECK-NEXT: %c = onnx.Constant dense<6> : tensor<i64>
// CHECK-NEXT: func.return %c, %r : tensor<i64>, tensor<6xf32>

// Sizes that are the same sizes, wherever they come from: one op. What nobody can tell apart needs no op.
func.func @sizes_of_sizes(%x: tensor<?x4x?xf32, ["N", "", "H"]>) -> (tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<3xi64>) {
  %rest = onnx.Constant dense<[0, -1]> : tensor<2xi64>
  %s = onnx.Shape %x : (tensor<?x4x?xf32, ["N", "", "H"]>) -> tensor<3xi64>
  %flat = onnx.Reshape %x, %rest : (tensor<?x4x?xf32, ["N", "", "H"]>, tensor<2xi64>) -> tensor<?x?xf32>
  %back = onnx.Reshape %flat, %s : (tensor<?x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %t = onnx.Shape %back : (tensor<?x?x?xf32>) -> tensor<3xi64>
  %again = onnx.Expand %back, %t : (tensor<?x?x?xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  func.return %flat, %again, %t : tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<3xi64>
}
// CHECK-LABEL: func.func @sizes_of_sizes(
// CHECK-NEXT: %rest = onnx.Constant dense<[0, -1]> : tensor<2xi64>
// CHECK-NEXT: %flat = onnx.Reshape %x, %rest : (tensor<?x4x?xf32, ["N", "", "H"]>, tensor<2xi64>) -> tensor<?x?xf32, ["N", "=4*H"]>
// CHECK-NEXT: %t = onnx.Shape %x : (tensor<?x4x?xf32, ["N", "", "H"]>) -> tensor<3xi64>
// CHECK-NEXT: func.return %flat, %x, %t : tensor<?x?xf32, ["N", "=4*H"]>, tensor<?x4x?xf32, ["N", "", "H"]>, tensor<3xi64>

// Sizes of which nothing is known but where they occur do not keep equal ops apart.
func.func @symbols(%x: tensor<?xf32>) -> (tensor<?xf32, ["=?1"]>, tensor<?xf32, ["=?2"]>) {
  %a = onnx.Neg %x : (tensor<?xf32>) -> tensor<?xf32, ["=?1"]>
  %b = onnx.Neg %x : (tensor<?xf32>) -> tensor<?xf32, ["=?2"]>
  func.return %a, %b : tensor<?xf32, ["=?1"]>, tensor<?xf32, ["=?2"]>
}
// CHECK-LABEL: func.func @symbols(
// CHECK-NEXT: %a = onnx.Neg %x : (tensor<?xf32>) -> tensor<?xf32, ["=?1"]>
// CHECK-NEXT: func.return %a, %a : tensor<?xf32, ["=?1"]>, tensor<?xf32, ["=?1"]>

// The branch that is always taken, once its condition is known, may have results of more shape than both.
func.func @known_branch(%x: tensor<1x3xf32>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %one = onnx.Constant dense<[1]> : tensor<1xi64>
  %size = onnx.Shape %x {start = 0, end = 1} : (tensor<1x3xf32>) -> tensor<1xi64>
  %c = onnx.Equal %size, %one : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  %y = onnx.If %c then_branch {
    %s = onnx.Squeeze %x, %axes : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
    onnx.Yield %s : tensor<3xf32>
  } else_branch {
    onnx.Yield %x : tensor<1x3xf32>
  } : (tensor<1xi1>) -> tensor<*xf32>
  %z = onnx.Neg %y : (tensor<*xf32>) -> tensor<*xf32>
  func.return %z : tensor<*xf32>
}
// CHECK-LABEL: func.func @known_branch(
// CHECK-NEXT: %axes = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %s = onnx.Squeeze %x, %axes : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
// CHECK-NEXT: %z = onnx.Neg %s : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %z : tensor<3xf32>

// Attributes that say what would hold without them do not keep equal ops apart; others do.
func.func @defaults(%x: tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) {
  %a, %ai = onnx.MaxPool %x {ceil_mode = 0, dilations = array<i64: 1, 1>, kernel_shape = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  %b, %bi = onnx.MaxPool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  %c, %ci = onnx.MaxPool %x {dilations = array<i64: 2, 2>, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi64>)
  func.return %a, %b, %c : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>
}
// CHECK-LABEL: func.func @defaults(
// CHECK-NEXT: %a, %ai = onnx.MaxPool %x {ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 2], pads = [0, 0, 0, 0], strides = [2, 2]} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
// CHECK-NEXT: %c, %ci = onnx.MaxPool %x {dilations = [2, 2], kernel_shape = [2, 2], strides = [2, 2]} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi64>)
// CHECK-NEXT: func.return %a, %a, %c : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>

// MatMul repeats the matrix itself.
func.func @matrix(%x: tensor<4x3x5xf32>, %w: tensor<5x6xf32>) -> tensor<4x3x6xf32> {
  %sizes = onnx.Constant dense<[4, 5, 6]> : tensor<3xi64>
  %all = onnx.Expand %w, %sizes : (tensor<5x6xf32>, tensor<3xi64>) -> tensor<4x5x6xf32>
  %y = onnx.MatMul %x, %all : (tensor<4x3x5xf32>, tensor<4x5x6xf32>) -> tensor<4x3x6xf32>
  func.return %y : tensor<4x3x6xf32>
}
// CHECK-LABEL: func.func @matrix(
// CHECK-NEXT: %y = onnx.MatMul %x, %w : (tensor<4x3x5xf32>, tensor<5x6xf32>) -> tensor<4x3x6xf32>
// CHECK-NEXT: func.return %y : tensor<4x3x6xf32>
