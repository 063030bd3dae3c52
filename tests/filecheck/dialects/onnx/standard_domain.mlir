// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @acos(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Acos %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @acos(
// CHECK-NEXT: %v1 = onnx.Acos %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @acosh(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Acosh %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @acosh(
// CHECK-NEXT: %v1 = onnx.Acosh %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @affine_grid(%v0: tensor<2x2x3xf32>, %v1: tensor<4xi64>) -> tensor<?x?x?x2xf32> {
  %v2 = onnx.AffineGrid %v0, %v1 {align_corners = 0} : (tensor<2x2x3xf32>, tensor<4xi64>) -> tensor<?x?x?x2xf32>
  func.return %v2 : tensor<?x?x?x2xf32>
}
// CHECK-LABEL: func.func @affine_grid(
// CHECK-NEXT: %v2 = onnx.AffineGrid %v0, %v1 {align_corners = 0} : (tensor<2x2x3xf32>, tensor<4xi64>) -> tensor<?x?x?x2xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?x?x2xf32>

func.func @arg_max(%v0: tensor<2x2xf32>) -> tensor<2xi64> {
  %v1 = onnx.ArgMax %v0 {axis = 1, keepdims = 0} : (tensor<2x2xf32>) -> tensor<2xi64>
  func.return %v1 : tensor<2xi64>
}
// CHECK-LABEL: func.func @arg_max(
// CHECK-NEXT: %v1 = onnx.ArgMax %v0 {axis = 1, keepdims = 0} : (tensor<2x2xf32>) -> tensor<2xi64>
// CHECK-NEXT: func.return %v1 : tensor<2xi64>

func.func @arg_min(%v0: tensor<2x2xf32>) -> tensor<2xi64> {
  %v1 = onnx.ArgMin %v0 {axis = 1, keepdims = 0} : (tensor<2x2xf32>) -> tensor<2xi64>
  func.return %v1 : tensor<2xi64>
}
// CHECK-LABEL: func.func @arg_min(
// CHECK-NEXT: %v1 = onnx.ArgMin %v0 {axis = 1, keepdims = 0} : (tensor<2x2xf32>) -> tensor<2xi64>
// CHECK-NEXT: func.return %v1 : tensor<2xi64>

func.func @asin(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Asin %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @asin(
// CHECK-NEXT: %v1 = onnx.Asin %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @asinh(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Asinh %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @asinh(
// CHECK-NEXT: %v1 = onnx.Asinh %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @atan(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Atan %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @atan(
// CHECK-NEXT: %v1 = onnx.Atan %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @atanh(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Atanh %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @atanh(
// CHECK-NEXT: %v1 = onnx.Atanh %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @attention(%v0: tensor<2x3x4x8xf32>, %v1: tensor<2x3x6x8xf32>, %v2: tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x4x6xf32>) {
  %v3, %v4, %v5, %v6 = onnx.Attention %v0, %v1, %v2 : (tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x4x6xf32>)
  func.return %v3, %v4, %v5, %v6 : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x4x6xf32>
}
// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: %v3, %v4, %v5, %v6 = onnx.Attention %v0, %v1, %v2 : (tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x4x6xf32>)
// CHECK-NEXT: func.return %v3, %v4, %v5, %v6 : tensor<2x3x4x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x4x6xf32>

func.func @batch_normalization(%v0: tensor<2x3x4x5xf32>, %v1: tensor<3xf32>, %v2: tensor<3xf32>, %v3: tensor<3xf32>, %v4: tensor<3xf32>) -> (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %v5, %v6, %v7 = onnx.BatchNormalization %v0, %v1, %v2, %v3, %v4 : (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return %v5, %v6, %v7 : tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK-LABEL: func.func @batch_normalization(
// CHECK-NEXT: %v5, %v6, %v7 = onnx.BatchNormalization %v0, %v1, %v2, %v3, %v4 : (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>)
// CHECK-NEXT: func.return %v5, %v6, %v7 : tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<3xf32>

func.func @bernoulli(%v0: tensor<10xf64>) -> tensor<10xf64> {
  %v1 = onnx.Bernoulli %v0 : (tensor<10xf64>) -> tensor<10xf64>
  func.return %v1 : tensor<10xf64>
}
// CHECK-LABEL: func.func @bernoulli(
// CHECK-NEXT: %v1 = onnx.Bernoulli %v0 : (tensor<10xf64>) -> tensor<10xf64>
// CHECK-NEXT: func.return %v1 : tensor<10xf64>

func.func @bit_cast(%v0: tensor<3xf32>) -> tensor<3xi32> {
  %v1 = onnx.BitCast %v0 {to = i32} : (tensor<3xf32>) -> tensor<3xi32>
  func.return %v1 : tensor<3xi32>
}
// CHECK-LABEL: func.func @bit_cast(
// CHECK-NEXT: %v1 = onnx.BitCast %v0 {to = i32} : (tensor<3xf32>) -> tensor<3xi32>
// CHECK-NEXT: func.return %v1 : tensor<3xi32>

func.func @bit_shift(%v0: tensor<3xui8>, %v1: tensor<3xui8>) -> tensor<3xui8> {
  %v2 = onnx.BitShift %v0, %v1 {direction = "RIGHT"} : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  func.return %v2 : tensor<3xui8>
}
// CHECK-LABEL: func.func @bit_shift(
// CHECK-NEXT: %v2 = onnx.BitShift %v0, %v1 {direction = "RIGHT"} : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
// CHECK-NEXT: func.return %v2 : tensor<3xui8>

func.func @bitwise_and(%v0: tensor<3x4xi32>, %v1: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %v2 = onnx.BitwiseAnd %v0, %v1 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
  func.return %v2 : tensor<3x4xi32>
}
// CHECK-LABEL: func.func @bitwise_and(
// CHECK-NEXT: %v2 = onnx.BitwiseAnd %v0, %v1 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
// CHECK-NEXT: func.return %v2 : tensor<3x4xi32>

func.func @bitwise_not(%v0: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %v1 = onnx.BitwiseNot %v0 : (tensor<3x4xi32>) -> tensor<3x4xi32>
  func.return %v1 : tensor<3x4xi32>
}
// CHECK-LABEL: func.func @bitwise_not(
// CHECK-NEXT: %v1 = onnx.BitwiseNot %v0 : (tensor<3x4xi32>) -> tensor<3x4xi32>
// CHECK-NEXT: func.return %v1 : tensor<3x4xi32>

func.func @bitwise_or(%v0: tensor<3x4xi32>, %v1: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %v2 = onnx.BitwiseOr %v0, %v1 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
  func.return %v2 : tensor<3x4xi32>
}
// CHECK-LABEL: func.func @bitwise_or(
// CHECK-NEXT: %v2 = onnx.BitwiseOr %v0, %v1 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
// CHECK-NEXT: func.return %v2 : tensor<3x4xi32>

func.func @bitwise_xor(%v0: tensor<3x4xi32>, %v1: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %v2 = onnx.BitwiseXor %v0, %v1 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
  func.return %v2 : tensor<3x4xi32>
}
// CHECK-LABEL: func.func @bitwise_xor(
// CHECK-NEXT: %v2 = onnx.BitwiseXor %v0, %v1 : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
// CHECK-NEXT: func.return %v2 : tensor<3x4xi32>

func.func @blackman_window(%v0: tensor<i32>) -> tensor<?xf32> {
  %v1 = onnx.BlackmanWindow %v0 : (tensor<i32>) -> tensor<?xf32>
  func.return %v1 : tensor<?xf32>
}
// CHECK-LABEL: func.func @blackman_window(
// CHECK-NEXT: %v1 = onnx.BlackmanWindow %v0 : (tensor<i32>) -> tensor<?xf32>
// CHECK-NEXT: func.return %v1 : tensor<?xf32>

func.func @cast_like(%v0: tensor<3x4xf32>, %v1: tensor<0xf16>) -> tensor<3x4xf16> {
  %v2 = onnx.CastLike %v0, %v1 : (tensor<3x4xf32>, tensor<0xf16>) -> tensor<3x4xf16>
  func.return %v2 : tensor<3x4xf16>
}
// CHECK-LABEL: func.func @cast_like(
// CHECK-NEXT: %v2 = onnx.CastLike %v0, %v1 : (tensor<3x4xf32>, tensor<0xf16>) -> tensor<3x4xf16>
// CHECK-NEXT: func.return %v2 : tensor<3x4xf16>

func.func @causal_conv_with_state(%v0: tensor<2x4x8xf32>, %v1: tensor<4x1x4xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x3xf32>) {
  %v2, %v3 = onnx.CausalConvWithState %v0, %v1 : (tensor<2x4x8xf32>, tensor<4x1x4xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x3xf32>)
  func.return %v2, %v3 : tensor<2x4x8xf32>, tensor<2x4x3xf32>
}
// CHECK-LABEL: func.func @causal_conv_with_state(
// CHECK-NEXT: %v2, %v3 = onnx.CausalConvWithState %v0, %v1 : (tensor<2x4x8xf32>, tensor<4x1x4xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x3xf32>)
// CHECK-NEXT: func.return %v2, %v3 : tensor<2x4x8xf32>, tensor<2x4x3xf32>

func.func @celu(%v0: tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32> {
  %v1 = onnx.Celu %v0 {alpha = 2.000000e+00 : f32} : (tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32>
  func.return %v1 : tensor<3x3x3x1xf32>
}
// CHECK-LABEL: func.func @celu(
// CHECK-NEXT: %v1 = onnx.Celu %v0 {alpha = 2.000000e+00 : f32} : (tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32>
// CHECK-NEXT: func.return %v1 : tensor<3x3x3x1xf32>

func.func @center_crop_pad(%v0: tensor<20x10x3xf32>, %v1: tensor<3xi64>) -> tensor<?x?x?xf32> {
  %v2 = onnx.CenterCropPad %v0, %v1 : (tensor<20x10x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  func.return %v2 : tensor<?x?x?xf32>
}
// CHECK-LABEL: func.func @center_crop_pad(
// CHECK-NEXT: %v2 = onnx.CenterCropPad %v0, %v1 : (tensor<20x10x3xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?x?xf32>

func.func @compress(%v0: tensor<3x2xf32>, %v1: tensor<3xi1>) -> tensor<?x2xf32> {
  %v2 = onnx.Compress %v0, %v1 {axis = 0} : (tensor<3x2xf32>, tensor<3xi1>) -> tensor<?x2xf32>
  func.return %v2 : tensor<?x2xf32>
}
// CHECK-LABEL: func.func @compress(
// CHECK-NEXT: %v2 = onnx.Compress %v0, %v1 {axis = 0} : (tensor<3x2xf32>, tensor<3xi1>) -> tensor<?x2xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x2xf32>

func.func @conv_integer(%v0: tensor<1x1x3x3xui8>, %v1: tensor<1x1x2x2xui8>, %v2: tensor<ui8>) -> tensor<1x1x2x2xi32> {
  %v3 = onnx.ConvInteger %v0, %v1, %v2 : (tensor<1x1x3x3xui8>, tensor<1x1x2x2xui8>, tensor<ui8>) -> tensor<1x1x2x2xi32>
  func.return %v3 : tensor<1x1x2x2xi32>
}
// CHECK-LABEL: func.func @conv_integer(
// CHECK-NEXT: %v3 = onnx.ConvInteger %v0, %v1, %v2 : (tensor<1x1x3x3xui8>, tensor<1x1x2x2xui8>, tensor<ui8>) -> tensor<1x1x2x2xi32>
// CHECK-NEXT: func.return %v3 : tensor<1x1x2x2xi32>

func.func @cos(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Cos %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @cos(
// CHECK-NEXT: %v1 = onnx.Cos %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @cosh(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Cosh %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @cosh(
// CHECK-NEXT: %v1 = onnx.Cosh %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @cum_prod(%v0: tensor<5xf64>, %v1: tensor<i32>) -> tensor<5xf64> {
  %v2 = onnx.CumProd %v0, %v1 : (tensor<5xf64>, tensor<i32>) -> tensor<5xf64>
  func.return %v2 : tensor<5xf64>
}
// CHECK-LABEL: func.func @cum_prod(
// CHECK-NEXT: %v2 = onnx.CumProd %v0, %v1 : (tensor<5xf64>, tensor<i32>) -> tensor<5xf64>
// CHECK-NEXT: func.return %v2 : tensor<5xf64>

func.func @cum_sum(%v0: tensor<5xf64>, %v1: tensor<i32>) -> tensor<5xf64> {
  %v2 = onnx.CumSum %v0, %v1 : (tensor<5xf64>, tensor<i32>) -> tensor<5xf64>
  func.return %v2 : tensor<5xf64>
}
// CHECK-LABEL: func.func @cum_sum(
// CHECK-NEXT: %v2 = onnx.CumSum %v0, %v1 : (tensor<5xf64>, tensor<i32>) -> tensor<5xf64>
// CHECK-NEXT: func.return %v2 : tensor<5xf64>

func.func @d_f_t(%v0: tensor<1x10x10x1xf32>, %v1: tensor<i64>) -> tensor<?x?x?x2xf32> {
  %v2 = onnx.DFT %v0, _, %v1 : (tensor<1x10x10x1xf32>, tensor<i64>) -> tensor<?x?x?x2xf32>
  func.return %v2 : tensor<?x?x?x2xf32>
}
// CHECK-LABEL: func.func @d_f_t(
// CHECK-NEXT: %v2 = onnx.DFT %v0, _, %v1 : (tensor<1x10x10x1xf32>, tensor<i64>) -> tensor<?x?x?x2xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?x?x2xf32>

func.func @deform_conv(%v0: tensor<1x1x3x3xf32>, %v1: tensor<1x1x2x2xf32>, %v2: tensor<1x8x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %v3 = onnx.DeformConv %v0, %v1, %v2 {kernel_shape = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1x8x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %v3 : tensor<1x1x4x4xf32>
}
// CHECK-LABEL: func.func @deform_conv(
// CHECK-NEXT: %v3 = onnx.DeformConv %v0, %v1, %v2 {kernel_shape = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1x8x4x4xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %v3 : tensor<1x1x4x4xf32>

func.func @dequantize_linear(%v0: tensor<4xui8>, %v1: tensor<f32>, %v2: tensor<ui8>) -> tensor<4xf32> {
  %v3 = onnx.DequantizeLinear %v0, %v1, %v2 : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  func.return %v3 : tensor<4xf32>
}
// CHECK-LABEL: func.func @dequantize_linear(
// CHECK-NEXT: %v3 = onnx.DequantizeLinear %v0, %v1, %v2 : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
// CHECK-NEXT: func.return %v3 : tensor<4xf32>

func.func @det(%v0: tensor<2x2xf32>) -> tensor<f32> {
  %v1 = onnx.Det %v0 : (tensor<2x2xf32>) -> tensor<f32>
  func.return %v1 : tensor<f32>
}
// CHECK-LABEL: func.func @det(
// CHECK-NEXT: %v1 = onnx.Det %v0 : (tensor<2x2xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %v1 : tensor<f32>

func.func @dropout(%v0: tensor<3x4x5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xi1>) {
  %v1, %v2 = onnx.Dropout %v0 {seed = 0} : (tensor<3x4x5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xi1>)
  func.return %v1, %v2 : tensor<3x4x5xf32>, tensor<3x4x5xi1>
}
// CHECK-LABEL: func.func @dropout(
// CHECK-NEXT: %v1, %v2 = onnx.Dropout %v0 {seed = 0} : (tensor<3x4x5xf32>) -> (tensor<3x4x5xf32>, tensor<3x4x5xi1>)
// CHECK-NEXT: func.return %v1, %v2 : tensor<3x4x5xf32>, tensor<3x4x5xi1>

func.func @dynamic_quantize_linear(%v0: tensor<6xf32>) -> (tensor<6xui8>, tensor<f32>, tensor<ui8>) {
  %v1, %v2, %v3 = onnx.DynamicQuantizeLinear %v0 : (tensor<6xf32>) -> (tensor<6xui8>, tensor<f32>, tensor<ui8>)
  func.return %v1, %v2, %v3 : tensor<6xui8>, tensor<f32>, tensor<ui8>
}
// CHECK-LABEL: func.func @dynamic_quantize_linear(
// CHECK-NEXT: %v1, %v2, %v3 = onnx.DynamicQuantizeLinear %v0 : (tensor<6xf32>) -> (tensor<6xui8>, tensor<f32>, tensor<ui8>)
// CHECK-NEXT: func.return %v1, %v2, %v3 : tensor<6xui8>, tensor<f32>, tensor<ui8>

func.func @einsum(%v0: tensor<3x4xf64>) -> tensor<4x3xf64> {
  %v1 = onnx.Einsum %v0 {equation = "ij->ji"} : (tensor<3x4xf64>) -> tensor<4x3xf64>
  func.return %v1 : tensor<4x3xf64>
}
// CHECK-LABEL: func.func @einsum(
// CHECK-NEXT: %v1 = onnx.Einsum %v0 {equation = "ij->ji"} : (tensor<3x4xf64>) -> tensor<4x3xf64>
// CHECK-NEXT: func.return %v1 : tensor<4x3xf64>

func.func @elu(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Elu %v0 {alpha = 2.000000e+00 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @elu(
// CHECK-NEXT: %v1 = onnx.Elu %v0 {alpha = 2.000000e+00 : f32} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @erf(%v0: tensor<1x3x32x32xf32>) -> tensor<1x3x32x32xf32> {
  %v1 = onnx.Erf %v0 : (tensor<1x3x32x32xf32>) -> tensor<1x3x32x32xf32>
  func.return %v1 : tensor<1x3x32x32xf32>
}
// CHECK-LABEL: func.func @erf(
// CHECK-NEXT: %v1 = onnx.Erf %v0 : (tensor<1x3x32x32xf32>) -> tensor<1x3x32x32xf32>
// CHECK-NEXT: func.return %v1 : tensor<1x3x32x32xf32>

func.func @exp(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Exp %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @exp(
// CHECK-NEXT: %v1 = onnx.Exp %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @eye_like(%v0: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %v1 = onnx.EyeLike %v0 : (tensor<4x4xi32>) -> tensor<4x4xi32>
  func.return %v1 : tensor<4x4xi32>
}
// CHECK-LABEL: func.func @eye_like(
// CHECK-NEXT: %v1 = onnx.EyeLike %v0 : (tensor<4x4xi32>) -> tensor<4x4xi32>
// CHECK-NEXT: func.return %v1 : tensor<4x4xi32>

func.func @flatten(%v0: tensor<2x3x4x5xf32>) -> tensor<1x120xf32> {
  %v1 = onnx.Flatten %v0 {axis = 0} : (tensor<2x3x4x5xf32>) -> tensor<1x120xf32>
  func.return %v1 : tensor<1x120xf32>
}
// CHECK-LABEL: func.func @flatten(
// CHECK-NEXT: %v1 = onnx.Flatten %v0 {axis = 0} : (tensor<2x3x4x5xf32>) -> tensor<1x120xf32>
// CHECK-NEXT: func.return %v1 : tensor<1x120xf32>

func.func @g_r_u(%v0: tensor<1x3x2xf32>, %v1: tensor<1x15x2xf32>, %v2: tensor<1x15x5xf32>) -> (tensor<1x1x3x5xf32>, tensor<1x3x5xf32>) {
  %v3, %v4 = onnx.GRU %v0, %v1, %v2 {hidden_size = 5} : (tensor<1x3x2xf32>, tensor<1x15x2xf32>, tensor<1x15x5xf32>) -> (tensor<1x1x3x5xf32>, tensor<1x3x5xf32>)
  func.return %v3, %v4 : tensor<1x1x3x5xf32>, tensor<1x3x5xf32>
}
// CHECK-LABEL: func.func @g_r_u(
// CHECK-NEXT: %v3, %v4 = onnx.GRU %v0, %v1, %v2 {hidden_size = 5} : (tensor<1x3x2xf32>, tensor<1x15x2xf32>, tensor<1x15x5xf32>) -> (tensor<1x1x3x5xf32>, tensor<1x3x5xf32>)
// CHECK-NEXT: func.return %v3, %v4 : tensor<1x1x3x5xf32>, tensor<1x3x5xf32>

func.func @gather_n_d(%v0: tensor<2x2xi32>, %v1: tensor<2x2xi64>) -> tensor<2xi32> {
  %v2 = onnx.GatherND %v0, %v1 : (tensor<2x2xi32>, tensor<2x2xi64>) -> tensor<2xi32>
  func.return %v2 : tensor<2xi32>
}
// CHECK-LABEL: func.func @gather_n_d(
// CHECK-NEXT: %v2 = onnx.GatherND %v0, %v1 : (tensor<2x2xi32>, tensor<2x2xi64>) -> tensor<2xi32>
// CHECK-NEXT: func.return %v2 : tensor<2xi32>

func.func @gelu(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Gelu %v0 {approximate = "tanh"} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @gelu(
// CHECK-NEXT: %v1 = onnx.Gelu %v0 {approximate = "tanh"} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @gemm(%v0: tensor<3x5xf32>, %v1: tensor<5x4xf32>, %v2: tensor<1x4xf32>) -> tensor<3x4xf32> {
  %v3 = onnx.Gemm %v0, %v1, %v2 : (tensor<3x5xf32>, tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  func.return %v3 : tensor<3x4xf32>
}
// CHECK-LABEL: func.func @gemm(
// CHECK-NEXT: %v3 = onnx.Gemm %v0, %v1, %v2 : (tensor<3x5xf32>, tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return %v3 : tensor<3x4xf32>

func.func @global_average_pool(%v0: tensor<1x3x5x5xf32>) -> tensor<1x3x1x1xf32> {
  %v1 = onnx.GlobalAveragePool %v0 : (tensor<1x3x5x5xf32>) -> tensor<1x3x1x1xf32>
  func.return %v1 : tensor<1x3x1x1xf32>
}
// CHECK-LABEL: func.func @global_average_pool(
// CHECK-NEXT: %v1 = onnx.GlobalAveragePool %v0 : (tensor<1x3x5x5xf32>) -> tensor<1x3x1x1xf32>
// CHECK-NEXT: func.return %v1 : tensor<1x3x1x1xf32>

func.func @global_max_pool(%v0: tensor<1x3x5x5xf32>) -> tensor<1x3x1x1xf32> {
  %v1 = onnx.GlobalMaxPool %v0 : (tensor<1x3x5x5xf32>) -> tensor<1x3x1x1xf32>
  func.return %v1 : tensor<1x3x1x1xf32>
}
// CHECK-LABEL: func.func @global_max_pool(
// CHECK-NEXT: %v1 = onnx.GlobalMaxPool %v0 : (tensor<1x3x5x5xf32>) -> tensor<1x3x1x1xf32>
// CHECK-NEXT: func.return %v1 : tensor<1x3x1x1xf32>

func.func @greater(%v0: tensor<3x4x5xf32>, %v1: tensor<3x4x5xf32>) -> tensor<3x4x5xi1> {
  %v2 = onnx.Greater %v0, %v1 : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xi1>
  func.return %v2 : tensor<3x4x5xi1>
}
// CHECK-LABEL: func.func @greater(
// CHECK-NEXT: %v2 = onnx.Greater %v0, %v1 : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xi1>
// CHECK-NEXT: func.return %v2 : tensor<3x4x5xi1>

func.func @grid_sample(%v0: tensor<1x1x4x4xf32>, %v1: tensor<1x6x6x2xf32>) -> tensor<1x1x6x6xf32> {
  %v2 = onnx.GridSample %v0, %v1 {align_corners = 0, mode = "linear", padding_mode = "zeros"} : (tensor<1x1x4x4xf32>, tensor<1x6x6x2xf32>) -> tensor<1x1x6x6xf32>
  func.return %v2 : tensor<1x1x6x6xf32>
}
// CHECK-LABEL: func.func @grid_sample(
// CHECK-NEXT: %v2 = onnx.GridSample %v0, %v1 {align_corners = 0, mode = "linear", padding_mode = "zeros"} : (tensor<1x1x4x4xf32>, tensor<1x6x6x2xf32>) -> tensor<1x1x6x6xf32>
// CHECK-NEXT: func.return %v2 : tensor<1x1x6x6xf32>

func.func @group_normalization(%v0: tensor<3x4x2x2xf32>, %v1: tensor<4xf32>, %v2: tensor<4xf32>) -> tensor<3x4x2x2xf32> {
  %v3 = onnx.GroupNormalization %v0, %v1, %v2 {num_groups = 2} : (tensor<3x4x2x2xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4x2x2xf32>
  func.return %v3 : tensor<3x4x2x2xf32>
}
// CHECK-LABEL: func.func @group_normalization(
// CHECK-NEXT: %v3 = onnx.GroupNormalization %v0, %v1, %v2 {num_groups = 2} : (tensor<3x4x2x2xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4x2x2xf32>
// CHECK-NEXT: func.return %v3 : tensor<3x4x2x2xf32>

func.func @hamming_window(%v0: tensor<i32>) -> tensor<?xf32> {
  %v1 = onnx.HammingWindow %v0 : (tensor<i32>) -> tensor<?xf32>
  func.return %v1 : tensor<?xf32>
}
// CHECK-LABEL: func.func @hamming_window(
// CHECK-NEXT: %v1 = onnx.HammingWindow %v0 : (tensor<i32>) -> tensor<?xf32>
// CHECK-NEXT: func.return %v1 : tensor<?xf32>

func.func @hann_window(%v0: tensor<i32>) -> tensor<?xf32> {
  %v1 = onnx.HannWindow %v0 : (tensor<i32>) -> tensor<?xf32>
  func.return %v1 : tensor<?xf32>
}
// CHECK-LABEL: func.func @hann_window(
// CHECK-NEXT: %v1 = onnx.HannWindow %v0 : (tensor<i32>) -> tensor<?xf32>
// CHECK-NEXT: func.return %v1 : tensor<?xf32>

func.func @hard_sigmoid(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.HardSigmoid %v0 {alpha = 5.000000e-01 : f32, beta = 6.000000e-01 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @hard_sigmoid(
// CHECK-NEXT: %v1 = onnx.HardSigmoid %v0 {alpha = 5.000000e-01 : f32, beta = 6.000000e-01 : f32} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @hard_swish(%v0: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %v1 = onnx.HardSwish %v0 : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  func.return %v1 : tensor<3x4x5xf32>
}
// CHECK-LABEL: func.func @hard_swish(
// CHECK-NEXT: %v1 = onnx.HardSwish %v0 : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
// CHECK-NEXT: func.return %v1 : tensor<3x4x5xf32>

func.func @hardmax(%v0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %v1 = onnx.Hardmax %v0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %v1 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func @hardmax(
// CHECK-NEXT: %v1 = onnx.Hardmax %v0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %v1 : tensor<4x4xf32>

func.func @image_decoder(%v0: tensor<1058xui8>) -> tensor<?x?x3xui8> {
  %v1 = onnx.ImageDecoder %v0 {pixel_format = "RGB"} : (tensor<1058xui8>) -> tensor<?x?x3xui8>
  func.return %v1 : tensor<?x?x3xui8>
}
// CHECK-LABEL: func.func @image_decoder(
// CHECK-NEXT: %v1 = onnx.ImageDecoder %v0 {pixel_format = "RGB"} : (tensor<1058xui8>) -> tensor<?x?x3xui8>
// CHECK-NEXT: func.return %v1 : tensor<?x?x3xui8>

func.func @instance_normalization(%v0: tensor<1x2x1x3xf32>, %v1: tensor<2xf32>, %v2: tensor<2xf32>) -> tensor<1x2x1x3xf32> {
  %v3 = onnx.InstanceNormalization %v0, %v1, %v2 : (tensor<1x2x1x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x1x3xf32>
  func.return %v3 : tensor<1x2x1x3xf32>
}
// CHECK-LABEL: func.func @instance_normalization(
// CHECK-NEXT: %v3 = onnx.InstanceNormalization %v0, %v1, %v2 : (tensor<1x2x1x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x1x3xf32>
// CHECK-NEXT: func.return %v3 : tensor<1x2x1x3xf32>

func.func @is_inf(%v0: tensor<6xf32>) -> tensor<6xi1> {
  %v1 = onnx.IsInf %v0 : (tensor<6xf32>) -> tensor<6xi1>
  func.return %v1 : tensor<6xi1>
}
// CHECK-LABEL: func.func @is_inf(
// CHECK-NEXT: %v1 = onnx.IsInf %v0 : (tensor<6xf32>) -> tensor<6xi1>
// CHECK-NEXT: func.return %v1 : tensor<6xi1>

func.func @is_na_n(%v0: tensor<6xf32>) -> tensor<6xi1> {
  %v1 = onnx.IsNaN %v0 : (tensor<6xf32>) -> tensor<6xi1>
  func.return %v1 : tensor<6xi1>
}
// CHECK-LABEL: func.func @is_na_n(
// CHECK-NEXT: %v1 = onnx.IsNaN %v0 : (tensor<6xf32>) -> tensor<6xi1>
// CHECK-NEXT: func.return %v1 : tensor<6xi1>

func.func @l_r_n(%v0: tensor<5x5x5x5xf32>) -> tensor<5x5x5x5xf32> {
  %v1 = onnx.LRN %v0 {size = 3, alpha = 2.000000e-04 : f32, beta = 5.000000e-01 : f32, bias = 2.000000e+00 : f32} : (tensor<5x5x5x5xf32>) -> tensor<5x5x5x5xf32>
  func.return %v1 : tensor<5x5x5x5xf32>
}
// CHECK-LABEL: func.func @l_r_n(
// CHECK-NEXT: %v1 = onnx.LRN %v0 {size = 3, alpha = 2.000000e-04 : f32, beta = 5.000000e-01 : f32, bias = 2.000000e+00 : f32} : (tensor<5x5x5x5xf32>) -> tensor<5x5x5x5xf32>
// CHECK-NEXT: func.return %v1 : tensor<5x5x5x5xf32>

func.func @l_s_t_m(%v0: tensor<1x3x2xf32>, %v1: tensor<1x12x2xf32>, %v2: tensor<1x12x3xf32>) -> (tensor<1x1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>) {
  %v3, %v4, %v5 = onnx.LSTM %v0, %v1, %v2 {hidden_size = 3} : (tensor<1x3x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>) -> (tensor<1x1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>)
  func.return %v3, %v4, %v5 : tensor<1x1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>
}
// CHECK-LABEL: func.func @l_s_t_m(
// CHECK-NEXT: %v3, %v4, %v5 = onnx.LSTM %v0, %v1, %v2 {hidden_size = 3} : (tensor<1x3x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>) -> (tensor<1x1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>)
// CHECK-NEXT: func.return %v3, %v4, %v5 : tensor<1x1x3x3xf32>, tensor<1x3x3xf32>, tensor<1x3x3xf32>

func.func @layer_normalization(%v0: tensor<2x3x4x5xf32>, %v1: tensor<2x3x4x5xf32>, %v2: tensor<2x3x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) {
  %v3, %v4, %v5 = onnx.LayerNormalization %v0, %v1, %v2 {axis = 0} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
  func.return %v3, %v4, %v5 : tensor<2x3x4x5xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}
// CHECK-LABEL: func.func @layer_normalization(
// CHECK-NEXT: %v3, %v4, %v5 = onnx.LayerNormalization %v0, %v1, %v2 {axis = 0} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
// CHECK-NEXT: func.return %v3, %v4, %v5 : tensor<2x3x4x5xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>

func.func @leaky_relu(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.LeakyRelu %v0 {alpha = 1.000000e-01 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @leaky_relu(
// CHECK-NEXT: %v1 = onnx.LeakyRelu %v0 {alpha = 1.000000e-01 : f32} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @less_or_equal(%v0: tensor<3x4x5xf32>, %v1: tensor<3x4x5xf32>) -> tensor<3x4x5xi1> {
  %v2 = onnx.LessOrEqual %v0, %v1 : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xi1>
  func.return %v2 : tensor<3x4x5xi1>
}
// CHECK-LABEL: func.func @less_or_equal(
// CHECK-NEXT: %v2 = onnx.LessOrEqual %v0, %v1 : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xi1>
// CHECK-NEXT: func.return %v2 : tensor<3x4x5xi1>

func.func @linear_attention(%v0: tensor<2x4x32xf32>, %v1: tensor<2x4x32xf32>, %v2: tensor<2x4x32xf32>) -> (tensor<2x4x32xf32>, tensor<2x4x8x8xf32>) {
  %v3, %v4 = onnx.LinearAttention %v0, %v1, %v2 {kv_num_heads = 4, q_num_heads = 4, update_rule = "linear"} : (tensor<2x4x32xf32>, tensor<2x4x32xf32>, tensor<2x4x32xf32>) -> (tensor<2x4x32xf32>, tensor<2x4x8x8xf32>)
  func.return %v3, %v4 : tensor<2x4x32xf32>, tensor<2x4x8x8xf32>
}
// CHECK-LABEL: func.func @linear_attention(
// CHECK-NEXT: %v3, %v4 = onnx.LinearAttention %v0, %v1, %v2 {kv_num_heads = 4, q_num_heads = 4, update_rule = "linear"} : (tensor<2x4x32xf32>, tensor<2x4x32xf32>, tensor<2x4x32xf32>) -> (tensor<2x4x32xf32>, tensor<2x4x8x8xf32>)
// CHECK-NEXT: func.return %v3, %v4 : tensor<2x4x32xf32>, tensor<2x4x8x8xf32>

func.func @log(%v0: tensor<2xf32>) -> tensor<2xf32> {
  %v1 = onnx.Log %v0 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %v1 : tensor<2xf32>
}
// CHECK-LABEL: func.func @log(
// CHECK-NEXT: %v1 = onnx.Log %v0 : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %v1 : tensor<2xf32>

func.func @log_softmax(%v0: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %v1 = onnx.LogSoftmax %v0 : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %v1 : tensor<1x3xf32>
}
// CHECK-LABEL: func.func @log_softmax(
// CHECK-NEXT: %v1 = onnx.LogSoftmax %v0 : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: func.return %v1 : tensor<1x3xf32>

func.func @lp_normalization(%v0: tensor<2x2x3xf32>) -> tensor<2x2x3xf32> {
  %v1 = onnx.LpNormalization %v0 {axis = 0, p = 2} : (tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  func.return %v1 : tensor<2x2x3xf32>
}
// CHECK-LABEL: func.func @lp_normalization(
// CHECK-NEXT: %v1 = onnx.LpNormalization %v0 {axis = 0, p = 2} : (tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
// CHECK-NEXT: func.return %v1 : tensor<2x2x3xf32>

func.func @lp_pool(%v0: tensor<1x3x32xf32>) -> tensor<1x3x31xf32> {
  %v1 = onnx.LpPool %v0 {kernel_shape = [2], p = 3, strides = [1]} : (tensor<1x3x32xf32>) -> tensor<1x3x31xf32>
  func.return %v1 : tensor<1x3x31xf32>
}
// CHECK-LABEL: func.func @lp_pool(
// CHECK-NEXT: %v1 = onnx.LpPool %v0 {kernel_shape = [2], p = 3, strides = [1]} : (tensor<1x3x32xf32>) -> tensor<1x3x31xf32>
// CHECK-NEXT: func.return %v1 : tensor<1x3x31xf32>

func.func @mat_mul_integer(%v0: tensor<4x3xui8>, %v1: tensor<3x2xui8>, %v2: tensor<1xui8>, %v3: tensor<1xui8>) -> tensor<4x2xi32> {
  %v4 = onnx.MatMulInteger %v0, %v1, %v2, %v3 : (tensor<4x3xui8>, tensor<3x2xui8>, tensor<1xui8>, tensor<1xui8>) -> tensor<4x2xi32>
  func.return %v4 : tensor<4x2xi32>
}
// CHECK-LABEL: func.func @mat_mul_integer(
// CHECK-NEXT: %v4 = onnx.MatMulInteger %v0, %v1, %v2, %v3 : (tensor<4x3xui8>, tensor<3x2xui8>, tensor<1xui8>, tensor<1xui8>) -> tensor<4x2xi32>
// CHECK-NEXT: func.return %v4 : tensor<4x2xi32>

func.func @max_pool(%v0: tensor<1x1x5x5xui8>) -> (tensor<1x1x5x5xui8>, tensor<1x1x5x5xi64>) {
  %v1, %v2 = onnx.MaxPool %v0 {kernel_shape = [5, 5], pads = [2, 2, 2, 2]} : (tensor<1x1x5x5xui8>) -> (tensor<1x1x5x5xui8>, tensor<1x1x5x5xi64>)
  func.return %v1, %v2 : tensor<1x1x5x5xui8>, tensor<1x1x5x5xi64>
}
// CHECK-LABEL: func.func @max_pool(
// CHECK-NEXT: %v1, %v2 = onnx.MaxPool %v0 {kernel_shape = [5, 5], pads = [2, 2, 2, 2]} : (tensor<1x1x5x5xui8>) -> (tensor<1x1x5x5xui8>, tensor<1x1x5x5xi64>)
// CHECK-NEXT: func.return %v1, %v2 : tensor<1x1x5x5xui8>, tensor<1x1x5x5xi64>

func.func @max_unpool(%v0: tensor<1x1x2x2xf32>, %v1: tensor<1x1x2x2xi64>) -> tensor<1x1x4x4xf32> {
  %v2 = onnx.MaxUnpool %v0, %v1 {kernel_shape = [2, 2], strides = [2, 2]} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>) -> tensor<1x1x4x4xf32>
  func.return %v2 : tensor<1x1x4x4xf32>
}
// CHECK-LABEL: func.func @max_unpool(
// CHECK-NEXT: %v2 = onnx.MaxUnpool %v0, %v1 {kernel_shape = [2, 2], strides = [2, 2]} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT: func.return %v2 : tensor<1x1x4x4xf32>

func.func @mean(%v0: tensor<3xf32>, %v1: tensor<3xf32>, %v2: tensor<3xf32>) -> tensor<3xf32> {
  %v3 = onnx.Mean %v0, %v1, %v2 : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %v3 : tensor<3xf32>
}
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %v3 = onnx.Mean %v0, %v1, %v2 : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v3 : tensor<3xf32>

func.func @mean_variance_normalization(%v0: tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32> {
  %v1 = onnx.MeanVarianceNormalization %v0 : (tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32>
  func.return %v1 : tensor<3x3x3x1xf32>
}
// CHECK-LABEL: func.func @mean_variance_normalization(
// CHECK-NEXT: %v1 = onnx.MeanVarianceNormalization %v0 : (tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32>
// CHECK-NEXT: func.return %v1 : tensor<3x3x3x1xf32>

func.func @mel_weight_matrix(%v0: tensor<i32>, %v1: tensor<i32>, %v2: tensor<i32>, %v3: tensor<f32>, %v4: tensor<f32>) -> tensor<?x?xf32> {
  %v5 = onnx.MelWeightMatrix %v0, %v1, %v2, %v3, %v4 : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<?x?xf32>
  func.return %v5 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @mel_weight_matrix(
// CHECK-NEXT: %v5 = onnx.MelWeightMatrix %v0, %v1, %v2, %v3, %v4 : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v5 : tensor<?x?xf32>

func.func @mish(%v0: tensor<10000xf32>) -> tensor<10000xf32> {
  %v1 = onnx.Mish %v0 : (tensor<10000xf32>) -> tensor<10000xf32>
  func.return %v1 : tensor<10000xf32>
}
// CHECK-LABEL: func.func @mish(
// CHECK-NEXT: %v1 = onnx.Mish %v0 : (tensor<10000xf32>) -> tensor<10000xf32>
// CHECK-NEXT: func.return %v1 : tensor<10000xf32>

func.func @negative_log_likelihood_loss(%v0: tensor<3x5xf32>, %v1: tensor<3xi64>) -> tensor<3xf32> {
  %v2 = onnx.NegativeLogLikelihoodLoss %v0, %v1 {reduction = "none"} : (tensor<3x5xf32>, tensor<3xi64>) -> tensor<3xf32>
  func.return %v2 : tensor<3xf32>
}
// CHECK-LABEL: func.func @negative_log_likelihood_loss(
// CHECK-NEXT: %v2 = onnx.NegativeLogLikelihoodLoss %v0, %v1 {reduction = "none"} : (tensor<3x5xf32>, tensor<3xi64>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v2 : tensor<3xf32>

func.func @non_max_suppression(%v0: tensor<1x6x4xf32>, %v1: tensor<1x1x6xf32>, %v2: tensor<1xi64>, %v3: tensor<1xf32>, %v4: tensor<1xf32>) -> tensor<?x3xi64> {
  %v5 = onnx.NonMaxSuppression %v0, %v1, %v2, %v3, %v4 : (tensor<1x6x4xf32>, tensor<1x1x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x3xi64>
  func.return %v5 : tensor<?x3xi64>
}
// CHECK-LABEL: func.func @non_max_suppression(
// CHECK-NEXT: %v5 = onnx.NonMaxSuppression %v0, %v1, %v2, %v3, %v4 : (tensor<1x6x4xf32>, tensor<1x1x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x3xi64>
// CHECK-NEXT: func.return %v5 : tensor<?x3xi64>

func.func @non_zero(%v0: tensor<2x2xi1>) -> tensor<2x?xi64> {
  %v1 = onnx.NonZero %v0 : (tensor<2x2xi1>) -> tensor<2x?xi64>
  func.return %v1 : tensor<2x?xi64>
}
// CHECK-LABEL: func.func @non_zero(
// CHECK-NEXT: %v1 = onnx.NonZero %v0 : (tensor<2x2xi1>) -> tensor<2x?xi64>
// CHECK-NEXT: func.return %v1 : tensor<2x?xi64>

func.func @one_hot(%v0: tensor<3xi64>, %v1: tensor<f32>, %v2: tensor<2xi32>) -> tensor<3x?xi32> {
  %v3 = onnx.OneHot %v0, %v1, %v2 : (tensor<3xi64>, tensor<f32>, tensor<2xi32>) -> tensor<3x?xi32>
  func.return %v3 : tensor<3x?xi32>
}
// CHECK-LABEL: func.func @one_hot(
// CHECK-NEXT: %v3 = onnx.OneHot %v0, %v1, %v2 : (tensor<3xi64>, tensor<f32>, tensor<2xi32>) -> tensor<3x?xi32>
// CHECK-NEXT: func.return %v3 : tensor<3x?xi32>

func.func @optional_get_element(%v0: tensor<4xf32>) -> tensor<4xf32> {
  %v1 = onnx.OptionalGetElement %v0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %v1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @optional_get_element(
// CHECK-NEXT: %v1 = onnx.OptionalGetElement %v0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %v1 : tensor<4xf32>

func.func @optional_has_element() -> tensor<i1> {
  %v0 = onnx.OptionalHasElement : () -> tensor<i1>
  func.return %v0 : tensor<i1>
}
// CHECK-LABEL: func.func @optional_has_element(
// CHECK-NEXT: %v0 = onnx.OptionalHasElement : () -> tensor<i1>
// CHECK-NEXT: func.return %v0 : tensor<i1>

func.func @p_relu(%v0: tensor<3x4x5xf32>, %v1: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %v2 = onnx.PRelu %v0, %v1 : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  func.return %v2 : tensor<3x4x5xf32>
}
// CHECK-LABEL: func.func @p_relu(
// CHECK-NEXT: %v2 = onnx.PRelu %v0, %v1 : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
// CHECK-NEXT: func.return %v2 : tensor<3x4x5xf32>

func.func @pow(%v0: tensor<3xf32>, %v1: tensor<3xf32>) -> tensor<3xf32> {
  %v2 = onnx.Pow %v0, %v1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %v2 : tensor<3xf32>
}
// CHECK-LABEL: func.func @pow(
// CHECK-NEXT: %v2 = onnx.Pow %v0, %v1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v2 : tensor<3xf32>

func.func @q_linear_conv(%v0: tensor<1x1x7x7xui8>, %v1: tensor<f32>, %v2: tensor<ui8>, %v3: tensor<1x1x1x1xui8>, %v4: tensor<1xf32>, %v5: tensor<1xui8>, %v6: tensor<f32>, %v7: tensor<ui8>) -> tensor<1x1x7x7xui8> {
  %v8 = onnx.QLinearConv %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7 : (tensor<1x1x7x7xui8>, tensor<f32>, tensor<ui8>, tensor<1x1x1x1xui8>, tensor<1xf32>, tensor<1xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x7x7xui8>
  func.return %v8 : tensor<1x1x7x7xui8>
}
// CHECK-LABEL: func.func @q_linear_conv(
// CHECK-NEXT: %v8 = onnx.QLinearConv %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7 : (tensor<1x1x7x7xui8>, tensor<f32>, tensor<ui8>, tensor<1x1x1x1xui8>, tensor<1xf32>, tensor<1xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x7x7xui8>
// CHECK-NEXT: func.return %v8 : tensor<1x1x7x7xui8>

func.func @q_linear_mat_mul(%v0: tensor<2x4xui8>, %v1: tensor<1xf32>, %v2: tensor<1xui8>, %v3: tensor<4x3xui8>, %v4: tensor<1xf32>, %v5: tensor<1xui8>, %v6: tensor<1xf32>, %v7: tensor<1xui8>) -> tensor<2x3xui8> {
  %v8 = onnx.QLinearMatMul %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7 : (tensor<2x4xui8>, tensor<1xf32>, tensor<1xui8>, tensor<4x3xui8>, tensor<1xf32>, tensor<1xui8>, tensor<1xf32>, tensor<1xui8>) -> tensor<2x3xui8>
  func.return %v8 : tensor<2x3xui8>
}
// CHECK-LABEL: func.func @q_linear_mat_mul(
// CHECK-NEXT: %v8 = onnx.QLinearMatMul %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7 : (tensor<2x4xui8>, tensor<1xf32>, tensor<1xui8>, tensor<4x3xui8>, tensor<1xf32>, tensor<1xui8>, tensor<1xf32>, tensor<1xui8>) -> tensor<2x3xui8>
// CHECK-NEXT: func.return %v8 : tensor<2x3xui8>

func.func @quantize_linear(%v0: tensor<6xf32>, %v1: tensor<f32>, %v2: tensor<ui8>) -> tensor<6xui8> {
  %v3 = onnx.QuantizeLinear %v0, %v1, %v2 : (tensor<6xf32>, tensor<f32>, tensor<ui8>) -> tensor<6xui8>
  func.return %v3 : tensor<6xui8>
}
// CHECK-LABEL: func.func @quantize_linear(
// CHECK-NEXT: %v3 = onnx.QuantizeLinear %v0, %v1, %v2 : (tensor<6xf32>, tensor<f32>, tensor<ui8>) -> tensor<6xui8>
// CHECK-NEXT: func.return %v3 : tensor<6xui8>

func.func @r_m_s_normalization(%v0: tensor<2x3x4x5xf32>, %v1: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %v2 = onnx.RMSNormalization %v0, %v1 {axis = 0} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  func.return %v2 : tensor<2x3x4x5xf32>
}
// CHECK-LABEL: func.func @r_m_s_normalization(
// CHECK-NEXT: %v2 = onnx.RMSNormalization %v0, %v1 {axis = 0} : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: func.return %v2 : tensor<2x3x4x5xf32>

func.func @r_n_n(%v0: tensor<1x3x2xf32>, %v1: tensor<1x4x2xf32>, %v2: tensor<1x4x4xf32>) -> (tensor<1x1x3x4xf32>, tensor<1x3x4xf32>) {
  %v3, %v4 = onnx.RNN %v0, %v1, %v2 {hidden_size = 4} : (tensor<1x3x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x3x4xf32>, tensor<1x3x4xf32>)
  func.return %v3, %v4 : tensor<1x1x3x4xf32>, tensor<1x3x4xf32>
}
// CHECK-LABEL: func.func @r_n_n(
// CHECK-NEXT: %v3, %v4 = onnx.RNN %v0, %v1, %v2 {hidden_size = 4} : (tensor<1x3x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x3x4xf32>, tensor<1x3x4xf32>)
// CHECK-NEXT: func.return %v3, %v4 : tensor<1x1x3x4xf32>, tensor<1x3x4xf32>

func.func @reciprocal(%v0: tensor<2xf32>) -> tensor<2xf32> {
  %v1 = onnx.Reciprocal %v0 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %v1 : tensor<2xf32>
}
// CHECK-LABEL: func.func @reciprocal(
// CHECK-NEXT: %v1 = onnx.Reciprocal %v0 : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %v1 : tensor<2xf32>

func.func @reduce_l1(%v0: tensor<3x2x2xf32>, %v1: tensor<1xi64>) -> tensor<?x?xf32> {
  %v2 = onnx.ReduceL1 %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %v2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @reduce_l1(
// CHECK-NEXT: %v2 = onnx.ReduceL1 %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf32>

func.func @reduce_l2(%v0: tensor<3x2x2xf32>, %v1: tensor<1xi64>) -> tensor<?x?xf32> {
  %v2 = onnx.ReduceL2 %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %v2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @reduce_l2(
// CHECK-NEXT: %v2 = onnx.ReduceL2 %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf32>

func.func @reduce_log_sum(%v0: tensor<3x4x5xf32>, %v1: tensor<2xi64>) -> tensor<?xf32> {
  %v2 = onnx.ReduceLogSum %v0, %v1 {keepdims = 0} : (tensor<3x4x5xf32>, tensor<2xi64>) -> tensor<?xf32>
  func.return %v2 : tensor<?xf32>
}
// CHECK-LABEL: func.func @reduce_log_sum(
// CHECK-NEXT: %v2 = onnx.ReduceLogSum %v0, %v1 {keepdims = 0} : (tensor<3x4x5xf32>, tensor<2xi64>) -> tensor<?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?xf32>

func.func @reduce_log_sum_exp(%v0: tensor<3x2x2xf64>, %v1: tensor<1xi64>) -> tensor<?x?xf64> {
  %v2 = onnx.ReduceLogSumExp %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf64>, tensor<1xi64>) -> tensor<?x?xf64>
  func.return %v2 : tensor<?x?xf64>
}
// CHECK-LABEL: func.func @reduce_log_sum_exp(
// CHECK-NEXT: %v2 = onnx.ReduceLogSumExp %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf64>, tensor<1xi64>) -> tensor<?x?xf64>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf64>

func.func @reduce_max(%v0: tensor<3x2x2xf32>, %v1: tensor<1xi64>) -> tensor<?x?xf32> {
  %v2 = onnx.ReduceMax %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %v2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @reduce_max(
// CHECK-NEXT: %v2 = onnx.ReduceMax %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf32>

func.func @reduce_mean(%v0: tensor<3x2x2xf32>, %v1: tensor<1xi64>) -> tensor<?x?xf32> {
  %v2 = onnx.ReduceMean %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %v2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @reduce_mean(
// CHECK-NEXT: %v2 = onnx.ReduceMean %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf32>

func.func @reduce_min(%v0: tensor<3x2x2xf32>, %v1: tensor<1xi64>) -> tensor<?x?xf32> {
  %v2 = onnx.ReduceMin %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %v2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @reduce_min(
// CHECK-NEXT: %v2 = onnx.ReduceMin %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf32>

func.func @reduce_prod(%v0: tensor<3x2x2xf32>, %v1: tensor<1xi64>) -> tensor<?x?xf32> {
  %v2 = onnx.ReduceProd %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %v2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @reduce_prod(
// CHECK-NEXT: %v2 = onnx.ReduceProd %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf32>

func.func @reduce_sum_square(%v0: tensor<3x2x2xf32>, %v1: tensor<1xi64>) -> tensor<?x?xf32> {
  %v2 = onnx.ReduceSumSquare %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return %v2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @reduce_sum_square(
// CHECK-NEXT: %v2 = onnx.ReduceSumSquare %v0, %v1 {keepdims = 0} : (tensor<3x2x2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return %v2 : tensor<?x?xf32>

func.func @regex_full_match(%v0: tensor<3x!onnx.string>) -> tensor<3xi1> {
  %v1 = onnx.RegexFullMatch %v0 {pattern = "www\\.[\\w.-]+\\.\\bcom\\b"} : (tensor<3x!onnx.string>) -> tensor<3xi1>
  func.return %v1 : tensor<3xi1>
}
// CHECK-LABEL: func.func @regex_full_match(
// CHECK-NEXT: %v1 = onnx.RegexFullMatch %v0 {pattern = "www\\.[\\w.-]+\\.\\bcom\\b"} : (tensor<3x!onnx.string>) -> tensor<3xi1>
// CHECK-NEXT: func.return %v1 : tensor<3xi1>

func.func @relu(%v0: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %v1 = onnx.Relu %v0 : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  func.return %v1 : tensor<3x4x5xf32>
}
// CHECK-LABEL: func.func @relu(
// CHECK-NEXT: %v1 = onnx.Relu %v0 : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
// CHECK-NEXT: func.return %v1 : tensor<3x4x5xf32>

func.func @reverse_sequence(%v0: tensor<4x4xf32>, %v1: tensor<4xi64>) -> tensor<4x4xf32> {
  %v2 = onnx.ReverseSequence %v0, %v1 {batch_axis = 1, time_axis = 0} : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  func.return %v2 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func @reverse_sequence(
// CHECK-NEXT: %v2 = onnx.ReverseSequence %v0, %v1 {batch_axis = 1, time_axis = 0} : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %v2 : tensor<4x4xf32>

func.func @roi_align(%v0: tensor<1x1x10x10xf32>, %v1: tensor<3x4xf32>, %v2: tensor<3xi64>) -> tensor<3x1x5x5xf32> {
  %v3 = onnx.RoiAlign %v0, %v1, %v2 {coordinate_transformation_mode = "output_half_pixel", output_height = 5, output_width = 5, sampling_ratio = 2, spatial_scale = 1.000000e+00 : f32} : (tensor<1x1x10x10xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x1x5x5xf32>
  func.return %v3 : tensor<3x1x5x5xf32>
}
// CHECK-LABEL: func.func @roi_align(
// CHECK-NEXT: %v3 = onnx.RoiAlign %v0, %v1, %v2 {coordinate_transformation_mode = "output_half_pixel", output_height = 5, output_width = 5, sampling_ratio = 2, spatial_scale = 1.000000e+00 : f32} : (tensor<1x1x10x10xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x1x5x5xf32>
// CHECK-NEXT: func.return %v3 : tensor<3x1x5x5xf32>

func.func @rotary_embedding(%v0: tensor<2x4x3x8xf32>, %v1: tensor<50x4xf32>, %v2: tensor<50x4xf32>, %v3: tensor<2x3xi64>) -> tensor<2x4x3x8xf32> {
  %v4 = onnx.RotaryEmbedding %v0, %v1, %v2, %v3 : (tensor<2x4x3x8xf32>, tensor<50x4xf32>, tensor<50x4xf32>, tensor<2x3xi64>) -> tensor<2x4x3x8xf32>
  func.return %v4 : tensor<2x4x3x8xf32>
}
// CHECK-LABEL: func.func @rotary_embedding(
// CHECK-NEXT: %v4 = onnx.RotaryEmbedding %v0, %v1, %v2, %v3 : (tensor<2x4x3x8xf32>, tensor<50x4xf32>, tensor<50x4xf32>, tensor<2x3xi64>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: func.return %v4 : tensor<2x4x3x8xf32>

func.func @round(%v0: tensor<15xf32>) -> tensor<15xf32> {
  %v1 = onnx.Round %v0 : (tensor<15xf32>) -> tensor<15xf32>
  func.return %v1 : tensor<15xf32>
}
// CHECK-LABEL: func.func @round(
// CHECK-NEXT: %v1 = onnx.Round %v0 : (tensor<15xf32>) -> tensor<15xf32>
// CHECK-NEXT: func.return %v1 : tensor<15xf32>

func.func @s_t_f_t(%v0: tensor<1x128x1xf32>, %v1: tensor<i64>, %v2: tensor<i64>) -> tensor<1x?x?x2xf32> {
  %v3 = onnx.STFT %v0, %v1, _, %v2 : (tensor<1x128x1xf32>, tensor<i64>, tensor<i64>) -> tensor<1x?x?x2xf32>
  func.return %v3 : tensor<1x?x?x2xf32>
}
// CHECK-LABEL: func.func @s_t_f_t(
// CHECK-NEXT: %v3 = onnx.STFT %v0, %v1, _, %v2 : (tensor<1x128x1xf32>, tensor<i64>, tensor<i64>) -> tensor<1x?x?x2xf32>
// CHECK-NEXT: func.return %v3 : tensor<1x?x?x2xf32>

func.func @scatter_elements(%v0: tensor<3x3xf32>, %v1: tensor<2x3xi64>, %v2: tensor<2x3xf32>) -> tensor<3x3xf32> {
  %v3 = onnx.ScatterElements %v0, %v1, %v2 : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
  func.return %v3 : tensor<3x3xf32>
}
// CHECK-LABEL: func.func @scatter_elements(
// CHECK-NEXT: %v3 = onnx.ScatterElements %v0, %v1, %v2 : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: func.return %v3 : tensor<3x3xf32>

func.func @selu(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Selu %v0 {alpha = 2.000000e+00 : f32, gamma = 3.000000e+00 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @selu(
// CHECK-NEXT: %v1 = onnx.Selu %v0 {alpha = 2.000000e+00 : f32, gamma = 3.000000e+00 : f32} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @shrink(%v0: tensor<5xf32>) -> tensor<5xf32> {
  %v1 = onnx.Shrink %v0 {lambd = 1.500000e+00 : f32} : (tensor<5xf32>) -> tensor<5xf32>
  func.return %v1 : tensor<5xf32>
}
// CHECK-LABEL: func.func @shrink(
// CHECK-NEXT: %v1 = onnx.Shrink %v0 {lambd = 1.500000e+00 : f32} : (tensor<5xf32>) -> tensor<5xf32>
// CHECK-NEXT: func.return %v1 : tensor<5xf32>

func.func @sigmoid(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Sigmoid %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @sigmoid(
// CHECK-NEXT: %v1 = onnx.Sigmoid %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @sign(%v0: tensor<11xf32>) -> tensor<11xf32> {
  %v1 = onnx.Sign %v0 : (tensor<11xf32>) -> tensor<11xf32>
  func.return %v1 : tensor<11xf32>
}
// CHECK-LABEL: func.func @sign(
// CHECK-NEXT: %v1 = onnx.Sign %v0 : (tensor<11xf32>) -> tensor<11xf32>
// CHECK-NEXT: func.return %v1 : tensor<11xf32>

func.func @sin(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Sin %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @sin(
// CHECK-NEXT: %v1 = onnx.Sin %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @sinh(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Sinh %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @sinh(
// CHECK-NEXT: %v1 = onnx.Sinh %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @size(%v0: tensor<2x3xf32>) -> tensor<i64> {
  %v1 = onnx.Size %v0 : (tensor<2x3xf32>) -> tensor<i64>
  func.return %v1 : tensor<i64>
}
// CHECK-LABEL: func.func @size(
// CHECK-NEXT: %v1 = onnx.Size %v0 : (tensor<2x3xf32>) -> tensor<i64>
// CHECK-NEXT: func.return %v1 : tensor<i64>

func.func @softmax(%v0: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %v1 = onnx.Softmax %v0 : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %v1 : tensor<1x3xf32>
}
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %v1 = onnx.Softmax %v0 : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: func.return %v1 : tensor<1x3xf32>

func.func @softmax_cross_entropy_loss(%v0: tensor<3x5xf32>, %v1: tensor<3xi64>) -> (tensor<3xf32>, tensor<3x5xf32>) {
  %v2, %v3 = onnx.SoftmaxCrossEntropyLoss %v0, %v1 {reduction = "none"} : (tensor<3x5xf32>, tensor<3xi64>) -> (tensor<3xf32>, tensor<3x5xf32>)
  func.return %v2, %v3 : tensor<3xf32>, tensor<3x5xf32>
}
// CHECK-LABEL: func.func @softmax_cross_entropy_loss(
// CHECK-NEXT: %v2, %v3 = onnx.SoftmaxCrossEntropyLoss %v0, %v1 {reduction = "none"} : (tensor<3x5xf32>, tensor<3xi64>) -> (tensor<3xf32>, tensor<3x5xf32>)
// CHECK-NEXT: func.return %v2, %v3 : tensor<3xf32>, tensor<3x5xf32>

func.func @softplus(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Softplus %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @softplus(
// CHECK-NEXT: %v1 = onnx.Softplus %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @softsign(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Softsign %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @softsign(
// CHECK-NEXT: %v1 = onnx.Softsign %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @space_to_depth(%v0: tensor<2x2x6x6xf32>) -> tensor<2x8x3x3xf32> {
  %v1 = onnx.SpaceToDepth %v0 {blocksize = 2} : (tensor<2x2x6x6xf32>) -> tensor<2x8x3x3xf32>
  func.return %v1 : tensor<2x8x3x3xf32>
}
// CHECK-LABEL: func.func @space_to_depth(
// CHECK-NEXT: %v1 = onnx.SpaceToDepth %v0 {blocksize = 2} : (tensor<2x2x6x6xf32>) -> tensor<2x8x3x3xf32>
// CHECK-NEXT: func.return %v1 : tensor<2x8x3x3xf32>

func.func @sqrt(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Sqrt %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @sqrt(
// CHECK-NEXT: %v1 = onnx.Sqrt %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @string_concat(%v0: tensor<2x!onnx.string>, %v1: tensor<2x!onnx.string>) -> tensor<2x!onnx.string> {
  %v2 = onnx.StringConcat %v0, %v1 : (tensor<2x!onnx.string>, tensor<2x!onnx.string>) -> tensor<2x!onnx.string>
  func.return %v2 : tensor<2x!onnx.string>
}
// CHECK-LABEL: func.func @string_concat(
// CHECK-NEXT: %v2 = onnx.StringConcat %v0, %v1 : (tensor<2x!onnx.string>, tensor<2x!onnx.string>) -> tensor<2x!onnx.string>
// CHECK-NEXT: func.return %v2 : tensor<2x!onnx.string>

func.func @string_normalizer(%v0: tensor<2x!onnx.string>) -> tensor<2x!onnx.string> {
  %v1 = onnx.StringNormalizer %v0 {is_case_sensitive = 1} : (tensor<2x!onnx.string>) -> tensor<2x!onnx.string>
  func.return %v1 : tensor<2x!onnx.string>
}
// CHECK-LABEL: func.func @string_normalizer(
// CHECK-NEXT: %v1 = onnx.StringNormalizer %v0 {is_case_sensitive = 1} : (tensor<2x!onnx.string>) -> tensor<2x!onnx.string>
// CHECK-NEXT: func.return %v1 : tensor<2x!onnx.string>

func.func @string_split(%v0: tensor<2x!onnx.string>) -> (tensor<2x?x!onnx.string>, tensor<2xi64>) {
  %v1, %v2 = onnx.StringSplit %v0 {delimiter = "."} : (tensor<2x!onnx.string>) -> (tensor<2x?x!onnx.string>, tensor<2xi64>)
  func.return %v1, %v2 : tensor<2x?x!onnx.string>, tensor<2xi64>
}
// CHECK-LABEL: func.func @string_split(
// CHECK-NEXT: %v1, %v2 = onnx.StringSplit %v0 {delimiter = "."} : (tensor<2x!onnx.string>) -> (tensor<2x?x!onnx.string>, tensor<2xi64>)
// CHECK-NEXT: func.return %v1, %v2 : tensor<2x?x!onnx.string>, tensor<2xi64>

func.func @sum(%v0: tensor<3xf32>, %v1: tensor<3xf32>, %v2: tensor<3xf32>) -> tensor<3xf32> {
  %v3 = onnx.Sum %v0, %v1, %v2 : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %v3 : tensor<3xf32>
}
// CHECK-LABEL: func.func @sum(
// CHECK-NEXT: %v3 = onnx.Sum %v0, %v1, %v2 : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v3 : tensor<3xf32>

func.func @swi_g_l_u(%v0: tensor<2x4xf32>, %v1: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %v2 = onnx.SwiGLU %v0, %v1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %v2 : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @swi_g_l_u(
// CHECK-NEXT: %v2 = onnx.SwiGLU %v0, %v1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %v2 : tensor<2x4xf32>

func.func @swish(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Swish %v0 {alpha = 1.000000e+00 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @swish(
// CHECK-NEXT: %v1 = onnx.Swish %v0 {alpha = 1.000000e+00 : f32} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @tan(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Tan %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @tan(
// CHECK-NEXT: %v1 = onnx.Tan %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @tanh(%v0: tensor<3xf32>) -> tensor<3xf32> {
  %v1 = onnx.Tanh %v0 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %v1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @tanh(
// CHECK-NEXT: %v1 = onnx.Tanh %v0 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %v1 : tensor<3xf32>

func.func @tensor_scatter(%v0: tensor<2x1x4x5xf32>, %v1: tensor<2x1x1x5xf32>, %v2: tensor<2xi64>) -> tensor<2x1x4x5xf32> {
  %v3 = onnx.TensorScatter %v0, %v1, %v2 {mode = "linear"} : (tensor<2x1x4x5xf32>, tensor<2x1x1x5xf32>, tensor<2xi64>) -> tensor<2x1x4x5xf32>
  func.return %v3 : tensor<2x1x4x5xf32>
}
// CHECK-LABEL: func.func @tensor_scatter(
// CHECK-NEXT: %v3 = onnx.TensorScatter %v0, %v1, %v2 {mode = "linear"} : (tensor<2x1x4x5xf32>, tensor<2x1x1x5xf32>, tensor<2xi64>) -> tensor<2x1x4x5xf32>
// CHECK-NEXT: func.return %v3 : tensor<2x1x4x5xf32>

func.func @tf_idf_vectorizer(%v0: tensor<12xi32>) -> tensor<7xf32> {
  %v1 = onnx.TfIdfVectorizer %v0 {max_gram_length = 2, max_skip_count = 0, min_gram_length = 2, mode = "TF", ngram_counts = [0, 4], ngram_indexes = [0, 1, 2, 3, 4, 5, 6], pool_int64s = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]} : (tensor<12xi32>) -> tensor<7xf32>
  func.return %v1 : tensor<7xf32>
}
// CHECK-LABEL: func.func @tf_idf_vectorizer(
// CHECK-NEXT: %v1 = onnx.TfIdfVectorizer %v0 {max_gram_length = 2, max_skip_count = 0, min_gram_length = 2, mode = "TF", ngram_counts = [0, 4], ngram_indexes = [0, 1, 2, 3, 4, 5, 6], pool_int64s = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]} : (tensor<12xi32>) -> tensor<7xf32>
// CHECK-NEXT: func.return %v1 : tensor<7xf32>

func.func @thresholded_relu(%v0: tensor<5xf32>) -> tensor<5xf32> {
  %v1 = onnx.ThresholdedRelu %v0 {alpha = 2.000000e+00 : f32} : (tensor<5xf32>) -> tensor<5xf32>
  func.return %v1 : tensor<5xf32>
}
// CHECK-LABEL: func.func @thresholded_relu(
// CHECK-NEXT: %v1 = onnx.ThresholdedRelu %v0 {alpha = 2.000000e+00 : f32} : (tensor<5xf32>) -> tensor<5xf32>
// CHECK-NEXT: func.return %v1 : tensor<5xf32>

func.func @top_k(%v0: tensor<3x4xf32>, %v1: tensor<1xi64>) -> (tensor<3x?xf32>, tensor<3x?xi64>) {
  %v2, %v3 = onnx.TopK %v0, %v1 {axis = 1} : (tensor<3x4xf32>, tensor<1xi64>) -> (tensor<3x?xf32>, tensor<3x?xi64>)
  func.return %v2, %v3 : tensor<3x?xf32>, tensor<3x?xi64>
}
// CHECK-LABEL: func.func @top_k(
// CHECK-NEXT: %v2, %v3 = onnx.TopK %v0, %v1 {axis = 1} : (tensor<3x4xf32>, tensor<1xi64>) -> (tensor<3x?xf32>, tensor<3x?xi64>)
// CHECK-NEXT: func.return %v2, %v3 : tensor<3x?xf32>, tensor<3x?xi64>

func.func @trilu(%v0: tensor<4x5xi64>) -> tensor<4x5xi64> {
  %v1 = onnx.Trilu %v0 : (tensor<4x5xi64>) -> tensor<4x5xi64>
  func.return %v1 : tensor<4x5xi64>
}
// CHECK-LABEL: func.func @trilu(
// CHECK-NEXT: %v1 = onnx.Trilu %v0 : (tensor<4x5xi64>) -> tensor<4x5xi64>
// CHECK-NEXT: func.return %v1 : tensor<4x5xi64>

func.func @unique(%v0: tensor<6xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<6xi64>, tensor<?xi64>) {
  %v1, %v2, %v3, %v4 = onnx.Unique %v0 : (tensor<6xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<6xi64>, tensor<?xi64>)
  func.return %v1, %v2, %v3, %v4 : tensor<?xf32>, tensor<?xi64>, tensor<6xi64>, tensor<?xi64>
}
// CHECK-LABEL: func.func @unique(
// CHECK-NEXT: %v1, %v2, %v3, %v4 = onnx.Unique %v0 : (tensor<6xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<6xi64>, tensor<?xi64>)
// CHECK-NEXT: func.return %v1, %v2, %v3, %v4 : tensor<?xf32>, tensor<?xi64>, tensor<6xi64>, tensor<?xi64>

func.func @xor(%v0: tensor<3x4xi1>, %v1: tensor<3x4xi1>) -> tensor<3x4xi1> {
  %v2 = onnx.Xor %v0, %v1 : (tensor<3x4xi1>, tensor<3x4xi1>) -> tensor<3x4xi1>
  func.return %v2 : tensor<3x4xi1>
}
// CHECK-LABEL: func.func @xor(
// CHECK-NEXT: %v2 = onnx.Xor %v0, %v1 : (tensor<3x4xi1>, tensor<3x4xi1>) -> tensor<3x4xi1>
// CHECK-NEXT: func.return %v2 : tensor<3x4xi1>
