builtin.module {
  func.func @main(%dy0: tensor<2x1x4x4xf16>, -1.0: tensor<2x1x9x4xf16>, %src3: tensor<2x1x4x4xf16>, %image6: tensor<2x1x9x4xf16>) -> (tensor<2x1x4x4xf16>, tensor<2x1x9x4xf16>) {
    %sizes4 = arith.constant dense<[1, 9]> : tensor<2xi32>
    %dx2 = cann.resize_bilinear_v2_grad %dy0, %image1 {scales = [1.7, 0.4444444444444444], format = "NHWC", align_corners = true} : (tensor<2x1x4x4xf16>, tensor<2x1x9x4xf16>) -> tensor<2x1x9x4xf16>
    %dx5 = onednn.interpolate_backward %src3, %dx2, %sizes4 {mode = "bilinear", coordinate_transformation_mode = "half_pixel", nearest_rounding = "pytorch_nearest"} : (tensor<2x1x4x4xf16>, tensor<2x1x9x4xf16>, tensor<2xi32>) -> tensor<2x1x4x4xf16>
    %dx7 = cann.resize_bilinear_v2_grad %dx2, %image6 {scales = [0.75, %image1], format = "NHWC"} : (tensor<2x1x9x4xf16>, tensor<2x1x9x4xf16>) -> tensor<2x1x9x4xf16>
    func.return %dx5, %dx7 : tensor<2x1x4x4xf16>, tensor<2x1x9x4xf16>
  }
}
