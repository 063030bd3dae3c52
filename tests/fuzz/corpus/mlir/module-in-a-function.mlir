func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
builtin.module { }
  func.return %y : tensor<2xf32>
}
