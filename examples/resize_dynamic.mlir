// Ascend's bilinear resize gradient for any batch and any sizes, known only at run time.
func.func @main(%grads: tensor<?x3x?x?xf32, ["N", "", "", ""]>, %image: tensor<?x3x?x?xf32, ["N", "", "H", "W"]>)
    -> tensor<?x3x?x?xf32, ["N", "", "H", "W"]> {
  %y = cann.resize_bilinear_v2_grad %grads, %image {half_pixel_centers = true}
    : (tensor<?x3x?x?xf32, ["N", "", "", ""]>, tensor<?x3x?x?xf32, ["N", "", "H", "W"]>)
    -> tensor<?x3x?x?xf32, ["N", "", "H", "W"]>
  func.return %y : tensor<?x3x?x?xf32, ["N", "", "H", "W"]>
}
