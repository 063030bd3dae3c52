// Two carried values, one of unknown type; a scan output; the number of the step; values from around.
func.func @main(%n: tensor<i64>, %x: tensor<?x3xf64>, %w: tensor<3xf64>, %k: tensor<f64>) -> (tensor<?x3xf64>, tensor<f64>, tensor<?x?x3xf64>) {
  %go = onnx.Constant dense<true> : tensor<i1>
  %e = onnx.Tanh %w : (tensor<3xf64>) -> tensor<3xf64>
  %y, %l, %z = onnx.Loop %n, %go, %x, %k body {
  ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<*xf64>, %b: tensor<f64>):
    %0 = onnx.Mul %a, %e : (tensor<*xf64>, tensor<3xf64>) -> tensor<*xf64>
    %1 = onnx.Sin %0 : (tensor<*xf64>) -> tensor<*xf64>
    %j = onnx.Cast %i {to = f64} : (tensor<i64>) -> tensor<f64>
    %2 = onnx.Mul %b, %j : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %3 = onnx.Add %1, %2 : (tensor<*xf64>, tensor<f64>) -> tensor<*xf64>
    %4 = onnx.Add %b, %k : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %5 = onnx.Mul %3, %x : (tensor<*xf64>, tensor<?x3xf64>) -> tensor<*xf64>
    onnx.Yield %on, %3, %4, %5 : tensor<i1>, tensor<*xf64>, tensor<f64>, tensor<*xf64>
  } : (tensor<i64>, tensor<i1>, tensor<?x3xf64>, tensor<f64>) -> (tensor<?x3xf64>, tensor<f64>, tensor<?x?x3xf64>)
  func.return %y, %l, %z : tensor<?x3xf64>, tensor<f64>, tensor<?x?x3xf64>
}
