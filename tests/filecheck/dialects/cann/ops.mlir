// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @resize(%dy: tensor<1x2x4x4xf32>, %x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %y = cann.resize_bilinear_v2_grad %dy, %x : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %y : tensor<1x2x3x3xf32>
}
// CHECK-LABEL: func.func @resize(
// CHECK-NEXT: %y = cann.resize_bilinear_v2_grad %dy, %x : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
// CHECK-NEXT: func.return %y : tensor<1x2x3x3xf32>

func.func @resize_all_attributes(%dy: tensor<?x4x4x2xf32, ["N", "", "", ""]>, %x: tensor<?x3x3x2xbf16, ["N", "", "", ""]>) -> tensor<?x3x3x2xbf16, ["N", "", "", ""]> {
  %y = cann.resize_bilinear_v2_grad %dy, %x {format = "NHWC", align_corners = false, half_pixel_centers = true, scales = [1.3, 0.0]} : (tensor<?x4x4x2xf32, ["N", "", "", ""]>, tensor<?x3x3x2xbf16, ["N", "", "", ""]>) -> tensor<?x3x3x2xbf16, ["N", "", "", ""]>
  func.return %y : tensor<?x3x3x2xbf16, ["N", "", "", ""]>
}
// CHECK-LABEL: func.func @resize_all_attributes(
// CHECK-NEXT: %y = cann.resize_bilinear_v2_grad %dy, %x {format = "NHWC", align_corners = false, half_pixel_centers = true, scales = [1.3, 0.0]} : (tensor<?x4x4x2xf32, ["N", "", "", ""]>, tensor<?x3x3x2xbf16, ["N", "", "", ""]>) -> tensor<?x3x3x2xbf16, ["N", "", "", ""]>
// CHECK-NEXT: func.return %y : tensor<?x3x3x2xbf16, ["N", "", "", ""]>

func.func @upsample(%dy: tensor<1x2x4x5xf16>) -> tensor<1x2x3x3xf16> {
  %out = cann.upsample_bilinear2d_backward %dy {outputSize = [4, 5], inputSize = [1, 2, 3, 3]} : (tensor<1x2x4x5xf16>) -> tensor<1x2x3x3xf16>
  func.return %out : tensor<1x2x3x3xf16>
}
// CHECK-LABEL: func.func @upsample(
// CHECK-NEXT: %out = cann.upsample_bilinear2d_backward %dy {outputSize = [4, 5], inputSize = [1, 2, 3, 3]} : (tensor<1x2x4x5xf16>) -> tensor<1x2x3x3xf16>
// CHECK-NEXT: func.return %out : tensor<1x2x3x3xf16>

func.func @upsample_all_attributes(%dy: tensor<1x4x5x2xf32>) -> tensor<1x3x3x2xf32> {
  %out = cann.upsample_bilinear2d_backward %dy {format = "NHWC", outputSize = [4, 5], inputSize = [1, 3, 3, 2], alignCorners = true, scalesH = 1.5, scalesW = -1.0} : (tensor<1x4x5x2xf32>) -> tensor<1x3x3x2xf32>
  func.return %out : tensor<1x3x3x2xf32>
}
// CHECK-LABEL: func.func @upsample_all_attributes(
// CHECK-NEXT: %out = cann.upsample_bilinear2d_backward %dy {format = "NHWC", outputSize = [4, 5], inputSize = [1, 3, 3, 2], alignCorners = true, scalesH = 1.5, scalesW = -1.0} : (tensor<1x4x5x2xf32>) -> tensor<1x3x3x2xf32>
// CHECK-NEXT: func.return %out : tensor<1x3x3x2xf32>
