func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = arith.constant 1 : i32
  %y = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
