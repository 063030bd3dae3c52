// As an exporter writes a loop over the rows of a tensor: a constant trip count, the row by its number.
func.func @main(%x: tensor<3xf64>, %w: tensor<4x3xf64>) -> tensor<3xf64> {
  %n = onnx.Constant dense<4> : tensor<i64>
  %y = onnx.Loop %n, _, %x body {
  ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<3xf64>):
    %0 = onnx.Gather %w, %i {axis = 0} : (tensor<4x3xf64>, tensor<i64>) -> tensor<3xf64>
    %1 = onnx.Mul %a, %0 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %2 = onnx.Exp %1 : (tensor<3xf64>) -> tensor<3xf64>
    %yes = onnx.Constant dense<true> : tensor<i1>
    onnx.Yield %yes, %2 : tensor<i1>, tensor<3xf64>
  } : (tensor<i64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %y : tensor<3xf64>
}
