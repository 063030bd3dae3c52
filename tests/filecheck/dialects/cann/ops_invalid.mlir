// RUN: gradc-opt %s --verify-diagnostics --split-input-file | filecheck %s

// cann.resize_bilinear_v2_grad C1: three axes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] rank of grads: given 3 [1, 2, 4], expected 4
func.func @f(%a: tensor<1x2x4xf32>, %b: tensor<1x2x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b : (tensor<1x2x4xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C1: a zero size
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] original_image axis H: given 0, expected a positive size
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x0x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b : (tensor<1x2x4x4xf32>, tensor<1x2x0x3xf32>) -> tensor<1x2x0x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C2: a format of the page's that the op does not take
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:46: error: [ResizeBilinearV2Grad "dx"] attribute format: given "ND", expected one of NCHW, NHWC
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b {format = "ND"} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C3: half grads with an f32 image
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] dtypes of grads and original_image: given f16 and f32, expected f16 and f16
func.func @f(%a: tensor<1x2x4x4xf16>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b : (tensor<1x2x4x4xf16>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C3: a dtype that is not documented
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] dtype of grads: given f64, expected one of f32, f16, bf16
func.func @f(%a: tensor<1x2x4x4xf64>, %b: tensor<1x2x3x3xf64>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b : (tensor<1x2x4x4xf64>, tensor<1x2x3x3xf64>) -> tensor<1x2x3x3xf64>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C4: channels that differ
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] axis C (axis 1 of NCHW) differs: given grads 2, original_image 3, expected equal
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x3x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b : (tensor<1x2x4x4xf32>, tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C4: batches that differ
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] axis N (axis 0 of NCHW) differs: given grads 1, original_image 2, expected equal
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<2x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C4: the channels of the format, not of the shape one has in mind
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] axis C (axis 3 of NHWC) differs: given grads 4, original_image 3, expected equal
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b {format = "NHWC"} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C5: both flags
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:46: error: [ResizeBilinearV2Grad "dx"] align_corners and half_pixel_centers are both true: expected at most one of them
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b {align_corners = true, half_pixel_centers = true} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C6: one scale
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:46: error: [ResizeBilinearV2Grad "dx"] length of scales: given 1, expected 2 (H, W)
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b {scales = [1.0]} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad C6: an infinite scale
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:46: error: [ResizeBilinearV2Grad "dx"] scales: given inf, expected a finite number (<= 0 means unset)
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b {scales = [0x7F800000 : f32, 1.0]} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad result: the shape of the image
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [ResizeBilinearV2Grad "dx"] shape of y: given [1, 2, 4, 4], expected [1, 2, 3, 3], that of original_image
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad form: a flag that is none
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:46: error: [ResizeBilinearV2Grad "dx"] attribute align_corners: given 2, expected type bool (0, 1, true or false)
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b {align_corners = 2} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.resize_bilinear_v2_grad form: the spelling of the aclnn call
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:46: error: [ResizeBilinearV2Grad "dx"] unknown attribute alignCorners: expected one of align_corners, half_pixel_centers, scales, format; did you mean align_corners? alignCorners is the aclnn call's spelling
func.func @f(%a: tensor<1x2x4x4xf32>, %b: tensor<1x2x3x3xf32>) {
  %dx = cann.resize_bilinear_v2_grad %a, %b {alignCorners = true} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C1: three axes
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [UpsampleBilinear2dBackward "dx"] rank of gradOut: given 3 [1, 2, 4], expected 4
func.func @f(%a: tensor<1x2x4xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 5], inputSize = [1, 2, 3, 3]} : (tensor<1x2x4xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C1: a zero size
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [UpsampleBilinear2dBackward "dx"] gradOut axis H: given 0, expected a positive size
func.func @f(%a: tensor<1x2x0x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 5], inputSize = [1, 2, 3, 3]} : (tensor<1x2x0x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C2: outputSize of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:47: error: [UpsampleBilinear2dBackward "dx"] length of outputSize: given 1, expected 2
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4], inputSize = [1, 2, 3, 3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C2: outputSize is not that of gradOut
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:47: error: [UpsampleBilinear2dBackward "dx"] outputSize axis W: given 4, expected 5, that of gradOut
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 4], inputSize = [1, 2, 3, 3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C3: inputSize of a wrong length
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:68: error: [UpsampleBilinear2dBackward "dx"] length of inputSize: given 2, expected 4
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 5], inputSize = [3, 3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C3: a zero in inputSize
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:68: error: [UpsampleBilinear2dBackward "dx"] inputSize axis H: given 0, expected a positive size
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 5], inputSize = [1, 2, 0, 3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C3: inputSize in another order than the tensor's
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [UpsampleBilinear2dBackward "dx"] axis C (axis 1 of NCHW) differs: given inputSize 3, gradOut 2, expected equal
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 5], inputSize = [1, 3, 3, 2]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward C4: an infinite scale
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:94: error: [UpsampleBilinear2dBackward "dx"] scalesH: given inf, expected a finite number (<= 0 means unset)
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 5], inputSize = [1, 2, 3, 3], scalesH = 0x7F800000 : f32} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward result: a shape that is not inputSize
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [UpsampleBilinear2dBackward "dx"] shape of out: given [1, 2, 3, 4], expected [1, 2, 3, 3]
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {outputSize = [4, 5], inputSize = [1, 2, 3, 3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x4xf32>
  func.return
}

// -----

// cann.upsample_bilinear2d_backward form: no outputSize
// CHECK: ops_invalid.mlir:[[# @LINE + 2]]:3: error: [UpsampleBilinear2dBackward "dx"] attribute outputSize is missing: expected a value of type s64[]
func.func @f(%a: tensor<1x2x4x5xf32>) {
  %dx = cann.upsample_bilinear2d_backward %a {inputSize = [1, 2, 3, 3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x3x3xf32>
  func.return
}
