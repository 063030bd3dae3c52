builtin.module {
  func.func @main(%dy0: tensor<?x3x?x6xf16, ["N", "", "Y0_1", ""]>) -> tensor<1x2x6x9xf16, ["N", "", "", ""]> {
    %dx1 = cann.upsample_bilinear2d_backward %dy0 {outputSize = [3, -9223372036854775808], inputSize = [-9223372036854775808, 2, 1, 6], alignCorners = false, scalesH = 0.0, scalesW = 0.0, format = "NHWC"} : (tensor<?x3x?x6xf16, ["N", "", "Y0_1", ""]>) -> tensor<?x2x1x6xf16, ["N", "", "", ""]>
    %dx2 = cann.upsample_bilinear2d_backward %dx1 {outputSize = [1, 6], inputSize = [-9223372036854775808, 2, 6, 9], alignCorners = true, scalesH = 1.7, scalesW = 3.0, format = "NCHW"} : (tensor<?x2x1x6xf16, ["N", "", "", ""]>) -> tensor<1x2x6x9xf16, ["N", "", "", ""]>
    func.return %dx2 : tensor<1x2x6x9xf16, ["N", "", "", ""]>
  }
}
