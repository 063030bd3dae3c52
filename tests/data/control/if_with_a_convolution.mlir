// What the gradient of a branch is made of has several forms to choose from.
func.func @main(%c: tensor<i1>, %x: tensor<?x2x5x5xf64>, %w: tensor<3x2x3x3xf64>) -> tensor<?x?x3x3xf64> {
  %y = onnx.If %c then_branch {
    %0 = onnx.Conv %x, %w {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<?x2x5x5xf64>, tensor<3x2x3x3xf64>) -> tensor<?x3x3x3xf64>
    onnx.Yield %0 : tensor<?x3x3x3xf64>
  } else_branch {
    %0, %1 = onnx.MaxPool %x {kernel_shape = [3, 3], strides = [1, 1]} : (tensor<?x2x5x5xf64>) -> (tensor<?x2x3x3xf64>, tensor<?x2x3x3xi64>)
    onnx.Yield %0 : tensor<?x2x3x3xf64>
  } : (tensor<i1>) -> tensor<?x?x3x3xf64>
  %z = onnx.Mul %y, %y : (tensor<?x?x3x3xf64>, tensor<?x?x3x3xf64>) -> tensor<?x?x3x3xf64>
  func.return %z : tensor<?x?x3x3xf64>
}
