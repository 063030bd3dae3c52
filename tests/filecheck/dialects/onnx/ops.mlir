// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @elementwise(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %r0 = onnx.Add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r1 = onnx.Sub %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r2 = onnx.Mul %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r3 = onnx.Div %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r4 = onnx.Mod %a, %b {fmod = 1} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r5 = onnx.Max %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r6 = onnx.Min %a, %b, %a : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
// CHECK-LABEL: func.func @elementwise(
// CHECK-NEXT: %r0 = onnx.Add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r1 = onnx.Sub %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r2 = onnx.Mul %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r3 = onnx.Div %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r4 = onnx.Mod %a, %b {fmod = 1} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r5 = onnx.Max %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r6 = onnx.Min %a, %b, %a : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>

func.func @unary(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %r0 = onnx.Abs %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = onnx.Ceil %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = onnx.Floor %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = onnx.Neg %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = onnx.Identity %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %r0, %r1, %r2, %r3, %r4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
// CHECK-LABEL: func.func @unary(
// CHECK-NEXT: %r0 = onnx.Abs %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r1 = onnx.Ceil %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r2 = onnx.Floor %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r3 = onnx.Neg %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r4 = onnx.Identity %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %r0, %r1, %r2, %r3, %r4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>

func.func @logic(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xf32>) {
  %r0 = onnx.Less %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %r1 = onnx.GreaterOrEqual %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %r2 = onnx.Equal %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %r3 = onnx.And %r0, %r1 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %r4 = onnx.Or %r0, %r1 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %r5 = onnx.Not %r2 : (tensor<2x3xi1>) -> tensor<2x3xi1>
  %r6 = onnx.Where %r0, %a, %b : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6 : tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xf32>
}
// CHECK-LABEL: func.func @logic(
// CHECK-NEXT: %r0 = onnx.Less %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %r1 = onnx.GreaterOrEqual %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %r2 = onnx.Equal %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: %r3 = onnx.And %r0, %r1 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %r4 = onnx.Or %r0, %r1 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %r5 = onnx.Not %r2 : (tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: %r6 = onnx.Where %r0, %a, %b : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6 : tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xf32>

func.func @optional_operands(%a: tensor<2x3xf32>, %b: tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %r0 = onnx.Clip %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = onnx.Clip %a, %b : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %r2 = onnx.Clip %a, _, %b : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %r3 = onnx.Clip %a, %b, %b : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  func.return %r0, %r1, %r2, %r3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
// CHECK-LABEL: func.func @optional_operands(
// CHECK-NEXT: %r0 = onnx.Clip %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r1 = onnx.Clip %a, %b : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r2 = onnx.Clip %a, _, %b : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: %r3 = onnx.Clip %a, %b, %b : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %r0, %r1, %r2, %r3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>

func.func @casts(%a: tensor<2x3xf32>) -> (tensor<2x3xbf16>, tensor<2x3xi1>) {
  %r0 = onnx.Cast %a {to = bf16} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %r1 = onnx.Cast %a {to = i1} : (tensor<2x3xf32>) -> tensor<2x3xi1>
  func.return %r0, %r1 : tensor<2x3xbf16>, tensor<2x3xi1>
}
// CHECK-LABEL: func.func @casts(
// CHECK-NEXT: %r0 = onnx.Cast %a {to = bf16} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
// CHECK-NEXT: %r1 = onnx.Cast %a {to = i1} : (tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: func.return %r0, %r1 : tensor<2x3xbf16>, tensor<2x3xi1>

func.func @average_pool(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x4x4x4xf32, ["N", "", "", ""]> {
  %r = onnx.AveragePool %a {kernel_shape = [2, 2], auto_pad = "NOTSET", ceil_mode = 1, count_include_pad = 1, dilations = [1, 1], pads = [0, 1, 0, 1], strides = [1, 2]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x4x4x4xf32, ["N", "", "", ""]>
  func.return %r : tensor<?x4x4x4xf32, ["N", "", "", ""]>
}
// CHECK-LABEL: func.func @average_pool(
// CHECK-NEXT: %r = onnx.AveragePool %a {kernel_shape = [2, 2], auto_pad = "NOTSET", ceil_mode = 1, count_include_pad = 1, dilations = [1, 1], pads = [0, 1, 0, 1], strides = [1, 2]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x4x4x4xf32, ["N", "", "", ""]>
// CHECK-NEXT: func.return %r : tensor<?x4x4x4xf32, ["N", "", "", ""]>

func.func @conv(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>, %b: tensor<4x2x3x3xf32>, %c: tensor<4xf32>) -> tensor<?x4x5x6xf32, ["N", "", "", ""]> {
  %r = onnx.Conv %a, %b, %c {auto_pad = "NOTSET", dilations = [1, 1], group = 2, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<?x4x5x6xf32, ["N", "", "", ""]>
  func.return %r : tensor<?x4x5x6xf32, ["N", "", "", ""]>
}
// CHECK-LABEL: func.func @conv(
// CHECK-NEXT: %r = onnx.Conv %a, %b, %c {auto_pad = "NOTSET", dilations = [1, 1], group = 2, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<?x4x5x6xf32, ["N", "", "", ""]>
// CHECK-NEXT: func.return %r : tensor<?x4x5x6xf32, ["N", "", "", ""]>

func.func @conv_transpose(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>, %b: tensor<4x2x3x3xf32>) -> tensor<?x4x10x6xf32, ["N", "", "", ""]> {
  %r = onnx.ConvTranspose %a, %b {dilations = [1, 1], group = 2, kernel_shape = [3, 3], output_padding = [1, 0], pads = [1, 1, 1, 1], strides = [2, 1]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4x2x3x3xf32>) -> tensor<?x4x10x6xf32, ["N", "", "", ""]>
  func.return %r : tensor<?x4x10x6xf32, ["N", "", "", ""]>
}
// CHECK-LABEL: func.func @conv_transpose(
// CHECK-NEXT: %r = onnx.ConvTranspose %a, %b {dilations = [1, 1], group = 2, kernel_shape = [3, 3], output_padding = [1, 0], pads = [1, 1, 1, 1], strides = [2, 1]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4x2x3x3xf32>) -> tensor<?x4x10x6xf32, ["N", "", "", ""]>
// CHECK-NEXT: func.return %r : tensor<?x4x10x6xf32, ["N", "", "", ""]>

func.func @col2im(%a: tensor<1x8x4xf32>, %b: tensor<2xi64>, %c: tensor<2xi64>) -> tensor<1x?x?x?xf32> {
  %r = onnx.Col2Im %a, %b, %c {dilations = [1, 1], pads = [0, 0, 0, 0], strides = [2, 2]} : (tensor<1x8x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x?x?x?xf32>
  func.return %r : tensor<1x?x?x?xf32>
}
// CHECK-LABEL: func.func @col2im(
// CHECK-NEXT: %r = onnx.Col2Im %a, %b, %c {dilations = [1, 1], pads = [0, 0, 0, 0], strides = [2, 2]} : (tensor<1x8x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x?x?x?xf32>
// CHECK-NEXT: func.return %r : tensor<1x?x?x?xf32>

func.func @matmul(%a: tensor<?x3x4xf16, ["N", "", ""]>, %b: tensor<4x5xf16>) -> tensor<?x3x5xf16, ["N", "", ""]> {
  %r = onnx.MatMul %a, %b : (tensor<?x3x4xf16, ["N", "", ""]>, tensor<4x5xf16>) -> tensor<?x3x5xf16, ["N", "", ""]>
  func.return %r : tensor<?x3x5xf16, ["N", "", ""]>
}
// CHECK-LABEL: func.func @matmul(
// CHECK-NEXT: %r = onnx.MatMul %a, %b : (tensor<?x3x4xf16, ["N", "", ""]>, tensor<4x5xf16>) -> tensor<?x3x5xf16, ["N", "", ""]>
// CHECK-NEXT: func.return %r : tensor<?x3x5xf16, ["N", "", ""]>

func.func @structure(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> (tensor<?x5x6x4xf32, ["N", "", "", ""]>, tensor<?x1x10x12xf32, ["N", "", "", ""]>, tensor<2xi64>, tensor<?x4x5x12xf32, ["N", "", "", ""]>) {
  %r0 = onnx.Transpose %a {perm = [0, 2, 3, 1]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x5x6x4xf32, ["N", "", "", ""]>
  %r1 = onnx.DepthToSpace %a {blocksize = 2, mode = "CRD"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x1x10x12xf32, ["N", "", "", ""]>
  %r2 = onnx.Shape %a {end = 3, start = 1} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<2xi64>
  %r3 = onnx.Concat %a, %a {axis = -1} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x4x5x12xf32, ["N", "", "", ""]>
  func.return %r0, %r1, %r2, %r3 : tensor<?x5x6x4xf32, ["N", "", "", ""]>, tensor<?x1x10x12xf32, ["N", "", "", ""]>, tensor<2xi64>, tensor<?x4x5x12xf32, ["N", "", "", ""]>
}
// CHECK-LABEL: func.func @structure(
// CHECK-NEXT: %r0 = onnx.Transpose %a {perm = [0, 2, 3, 1]} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x5x6x4xf32, ["N", "", "", ""]>
// CHECK-NEXT: %r1 = onnx.DepthToSpace %a {blocksize = 2, mode = "CRD"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x1x10x12xf32, ["N", "", "", ""]>
// CHECK-NEXT: %r2 = onnx.Shape %a {end = 3, start = 1} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<2xi64>
// CHECK-NEXT: %r3 = onnx.Concat %a, %a {axis = -1} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<?x4x5x6xf32, ["N", "", "", ""]>) -> tensor<?x4x5x12xf32, ["N", "", "", ""]>
// CHECK-NEXT: func.return %r0, %r1, %r2, %r3 : tensor<?x5x6x4xf32, ["N", "", "", ""]>, tensor<?x1x10x12xf32, ["N", "", "", ""]>, tensor<2xi64>, tensor<?x4x5x12xf32, ["N", "", "", ""]>

func.func @by_vectors(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>, %b: tensor<4xi64>, %c: tensor<2xi64>) -> (tensor<?x?x?x?xf32>, tensor<?x4x5x6xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?x?x?xf32>, tensor<?x?x?x?xf32>) {
  %r0 = onnx.Reshape %a, %b {allowzero = 1} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  %r1 = onnx.Expand %a, %b : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4xi64>) -> tensor<?x4x5x6xf32>
  %r2 = onnx.Tile %a, %b : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  %r3 = onnx.Unsqueeze %a, %c : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xi64>) -> tensor<?x?x?x?x?x?xf32>
  %r4 = onnx.ReduceSum %a, %c {keepdims = 1, noop_with_empty_axes = 0} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xi64>) -> tensor<?x?x?x?xf32>
  func.return %r0, %r1, %r2, %r3, %r4 : tensor<?x?x?x?xf32>, tensor<?x4x5x6xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?x?x?xf32>, tensor<?x?x?x?xf32>
}
// CHECK-LABEL: func.func @by_vectors(
// CHECK-NEXT: %r0 = onnx.Reshape %a, %b {allowzero = 1} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: %r1 = onnx.Expand %a, %b : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4xi64>) -> tensor<?x4x5x6xf32>
// CHECK-NEXT: %r2 = onnx.Tile %a, %b : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: %r3 = onnx.Unsqueeze %a, %c : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xi64>) -> tensor<?x?x?x?x?x?xf32>
// CHECK-NEXT: %r4 = onnx.ReduceSum %a, %c {keepdims = 1, noop_with_empty_axes = 0} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xi64>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: func.return %r0, %r1, %r2, %r3, %r4 : tensor<?x?x?x?xf32>, tensor<?x4x5x6xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?x?x?xf32>, tensor<?x?x?x?xf32>

func.func @squeeze(%a: tensor<1x2x1xf32>, %b: tensor<1xi64>) -> (tensor<2xf32>, tensor<1x1x1xf32>) {
  %r0 = onnx.Squeeze %a : (tensor<1x2x1xf32>) -> tensor<2xf32>
  %r1 = onnx.ReduceSum %a : (tensor<1x2x1xf32>) -> tensor<1x1x1xf32>
  func.return %r0, %r1 : tensor<2xf32>, tensor<1x1x1xf32>
}
// CHECK-LABEL: func.func @squeeze(
// CHECK-NEXT: %r0 = onnx.Squeeze %a : (tensor<1x2x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: %r1 = onnx.ReduceSum %a : (tensor<1x2x1xf32>) -> tensor<1x1x1xf32>
// CHECK-NEXT: func.return %r0, %r1 : tensor<2xf32>, tensor<1x1x1xf32>

func.func @pad(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>, %b: tensor<8xi64>, %c: tensor<f32>, %d: tensor<4xi64>) -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) {
  %r0 = onnx.Pad %a, %b : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<8xi64>) -> tensor<?x?x?x?xf32>
  %r1 = onnx.Pad %a, %b, %c {mode = "constant"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<8xi64>, tensor<f32>) -> tensor<?x?x?x?xf32>
  %r2 = onnx.Pad %a, %b, _, %d {mode = "edge"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<8xi64>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  func.return %r0, %r1, %r2 : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>
}
// CHECK-LABEL: func.func @pad(
// CHECK-NEXT: %r0 = onnx.Pad %a, %b : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<8xi64>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: %r1 = onnx.Pad %a, %b, %c {mode = "constant"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<8xi64>, tensor<f32>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: %r2 = onnx.Pad %a, %b, _, %d {mode = "edge"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<8xi64>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: func.return %r0, %r1, %r2 : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>

func.func @slice(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) -> (tensor<?x4x5x6xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) {
  %r0 = onnx.Slice %a, %b, %c : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x4x5x6xf32>
  %r1 = onnx.Slice %a, %b, %c, %d : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?x?xf32>
  %r2 = onnx.Slice %a, %b, %c, %d, %e : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?x?xf32>
  func.return %r0, %r1, %r2 : tensor<?x4x5x6xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>
}
// CHECK-LABEL: func.func @slice(
// CHECK-NEXT: %r0 = onnx.Slice %a, %b, %c : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x4x5x6xf32>
// CHECK-NEXT: %r1 = onnx.Slice %a, %b, %c, %d : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: %r2 = onnx.Slice %a, %b, %c, %d, %e : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?x?xf32>
// CHECK-NEXT: func.return %r0, %r1, %r2 : tensor<?x4x5x6xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>

func.func @gather(%a: tensor<2x3xf32>, %b: tensor<2x2xi64>) -> (tensor<2x2x2xf32>, tensor<2x2xf32>) {
  %r0 = onnx.Gather %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2x2x2xf32>
  %r1 = onnx.GatherElements %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  func.return %r0, %r1 : tensor<2x2x2xf32>, tensor<2x2xf32>
}
// CHECK-LABEL: func.func @gather(
// CHECK-NEXT: %r0 = onnx.Gather %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2x2x2xf32>
// CHECK-NEXT: %r1 = onnx.GatherElements %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return %r0, %r1 : tensor<2x2x2xf32>, tensor<2x2xf32>

func.func @scatter(%a: tensor<2x3xf32>, %b: tensor<1x2xi64>, %c: tensor<1xf32>) -> tensor<2x3xf32> {
  %r = onnx.ScatterND %a, %b, %c {reduction = "add"} : (tensor<2x3xf32>, tensor<1x2xi64>, tensor<1xf32>) -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @scatter(
// CHECK-NEXT: %r = onnx.ScatterND %a, %b, %c {reduction = "add"} : (tensor<2x3xf32>, tensor<1x2xi64>, tensor<1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %r : tensor<2x3xf32>

func.func @range(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>) -> tensor<?xi64> {
  %r = onnx.Range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  func.return %r : tensor<?xi64>
}
// CHECK-LABEL: func.func @range(
// CHECK-NEXT: %r = onnx.Range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: func.return %r : tensor<?xi64>

func.func @resize(%a: tensor<?x4x5x6xf32, ["N", "", "", ""]>, %b: tensor<2xf32>, %c: tensor<2xi64>) -> (tensor<?x4x?x?xf32, ["N", "", "", ""]>, tensor<?x4x?x?xf32, ["N", "", "", ""]>) {
  %r0 = onnx.Resize %a, _, %b {axes = [2, 3], coordinate_transformation_mode = "half_pixel", mode = "linear"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xf32>) -> tensor<?x4x?x?xf32, ["N", "", "", ""]>
  %r1 = onnx.Resize %a, _, _, %c {antialias = 0, axes = [2, 3], coordinate_transformation_mode = "asymmetric", cubic_coeff_a = -5.000000e-01 : f32, exclude_outside = 0, extrapolation_value = 2.500000e-01 : f32, keep_aspect_ratio_policy = "stretch", mode = "nearest", nearest_mode = "floor"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xi64>) -> tensor<?x4x?x?xf32, ["N", "", "", ""]>
  func.return %r0, %r1 : tensor<?x4x?x?xf32, ["N", "", "", ""]>, tensor<?x4x?x?xf32, ["N", "", "", ""]>
}
// CHECK-LABEL: func.func @resize(
// CHECK-NEXT: %r0 = onnx.Resize %a, _, %b {axes = [2, 3], coordinate_transformation_mode = "half_pixel", mode = "linear"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xf32>) -> tensor<?x4x?x?xf32, ["N", "", "", ""]>
// CHECK-NEXT: %r1 = onnx.Resize %a, _, _, %c {antialias = 0, axes = [2, 3], coordinate_transformation_mode = "asymmetric", cubic_coeff_a = -5.000000e-01 : f32, exclude_outside = 0, extrapolation_value = 2.500000e-01 : f32, keep_aspect_ratio_policy = "stretch", mode = "nearest", nearest_mode = "floor"} : (tensor<?x4x5x6xf32, ["N", "", "", ""]>, tensor<2xi64>) -> tensor<?x4x?x?xf32, ["N", "", "", ""]>
// CHECK-NEXT: func.return %r0, %r1 : tensor<?x4x?x?xf32, ["N", "", "", ""]>, tensor<?x4x?x?xf32, ["N", "", "", ""]>

func.func @split(%a: tensor<2x6xf32>, %b: tensor<2xi64>) -> (tensor<2x?xf32>, tensor<2x?xf32>) {
  %r0, %r1 = onnx.Split %a, %b {axis = 1} : (tensor<2x6xf32>, tensor<2xi64>) -> (tensor<2x?xf32>, tensor<2x?xf32>)
  func.return %r0, %r1 : tensor<2x?xf32>, tensor<2x?xf32>
}
// CHECK-LABEL: func.func @split(
// CHECK-NEXT: %r0, %r1 = onnx.Split %a, %b {axis = 1} : (tensor<2x6xf32>, tensor<2xi64>) -> (tensor<2x?xf32>, tensor<2x?xf32>)
// CHECK-NEXT: func.return %r0, %r1 : tensor<2x?xf32>, tensor<2x?xf32>

func.func @constants() -> (tensor<1x2xf32>, tensor<2xi1>, tensor<i64>, tensor<2xui8>, tensor<1xbf16>, tensor<0xi64>, tensor<f32>) {
  %r0 = onnx.Constant dense<[[1.500000e+00, -2.000000e+00]]> : tensor<1x2xf32>
  %r1 = onnx.Constant dense<[true, false]> : tensor<2xi1>
  %r2 = onnx.Constant dense<7> : tensor<i64>
  %r3 = onnx.Constant dense<[1, 255]> : tensor<2xui8>
  %r4 = onnx.Constant dense<1.500000e+00> : tensor<1xbf16>
  %r5 = onnx.Constant dense<> : tensor<0xi64>
  %r6 = onnx.ConstantOfShape %r5 {value = dense<2.500000e+00> : tensor<1xf32>} : (tensor<0xi64>) -> tensor<f32>
  func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6 : tensor<1x2xf32>, tensor<2xi1>, tensor<i64>, tensor<2xui8>, tensor<1xbf16>, tensor<0xi64>, tensor<f32>
}
// CHECK-LABEL: func.func @constants(
// CHECK-NEXT: %r0 = onnx.Constant dense<[[1.500000e+00, -2.000000e+00]]> : tensor<1x2xf32>
// CHECK-NEXT: %r1 = onnx.Constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %r2 = onnx.Constant dense<7> : tensor<i64>
// CHECK-NEXT: %r3 = onnx.Constant dense<[1, 255]> : tensor<2xui8>
// CHECK-NEXT: %r4 = onnx.Constant dense<1.500000e+00> : tensor<1xbf16>
// CHECK-NEXT: %r5 = onnx.Constant dense<> : tensor<0xi64>
// CHECK-NEXT: %r6 = onnx.ConstantOfShape %r5 {value = dense<2.500000e+00> : tensor<1xf32>} : (tensor<0xi64>) -> tensor<f32>
// CHECK-NEXT: func.return %r0, %r1, %r2, %r3, %r4, %r5, %r6 : tensor<1x2xf32>, tensor<2xi1>, tensor<i64>, tensor<2xui8>, tensor<1xbf16>, tensor<0xi64>, tensor<f32>

