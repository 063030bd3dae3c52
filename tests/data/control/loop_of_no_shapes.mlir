// As an exporter writes a loop whose body declares no shapes: what is stacked has none, either.
func.func @main(%n: tensor<i64>, %x: tensor<?x3xf64>, %w: tensor<?x3x3xf64>) -> tensor<*xf64> {
  %y, %z = onnx.Loop %n, _, %x body {
  ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<*xf64>):
    %0 = onnx.Gather %w, %i {axis = 0} : (tensor<?x3x3xf64>, tensor<i64>) -> tensor<?x?xf64>
    %1 = onnx.MatMul %a, %0 : (tensor<*xf64>, tensor<?x?xf64>) -> tensor<*xf64>
    %2 = onnx.Tanh %1 : (tensor<*xf64>) -> tensor<*xf64>
    onnx.Yield %on, %2, %2 : tensor<i1>, tensor<*xf64>, tensor<*xf64>
  } : (tensor<i64>, tensor<?x3xf64>) -> (tensor<*xf64>, tensor<*xf64>)
  %s = onnx.Mul %z, %z : (tensor<*xf64>, tensor<*xf64>) -> tensor<*xf64>
  func.return %s : tensor<*xf64>
}
