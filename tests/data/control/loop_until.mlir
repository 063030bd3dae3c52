// No trip count: it goes on until the sum is large. Of the values from around one is a matrix.
func.func @main(%x: tensor<?x3xf64>) -> tensor<?x3xf64> {
  %go = onnx.Constant dense<true> : tensor<i1>
  %ten = onnx.Constant dense<10.0> : tensor<f64>
  %two = onnx.Constant dense<2> : tensor<i64>
  %s = onnx.Mul %x, %x : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
  %y, %c = onnx.Loop _, %go, %s, %two body {
  ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<?x3xf64>, %d: tensor<i64>):
    %0 = onnx.Add %a, %s : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
    %f = onnx.Cast %d {to = f64} : (tensor<i64>) -> tensor<f64>
    %1 = onnx.Div %0, %f : (tensor<?x3xf64>, tensor<f64>) -> tensor<?x3xf64>
    %2 = onnx.Mul %1, %0 : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
    %3 = onnx.ReduceSum %2 {keepdims = 0} : (tensor<?x3xf64>) -> tensor<f64>
    %4 = onnx.Less %3, %ten : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %5 = onnx.Add %d, %d : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %max = onnx.Constant dense<6> : tensor<i64>
    %7 = onnx.Less %i, %max : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %6 = onnx.And %4, %7 : (tensor<i1>, tensor<i1>) -> tensor<i1>
    onnx.Yield %6, %1, %5 : tensor<i1>, tensor<?x3xf64>, tensor<i64>
  } : (tensor<i1>, tensor<?x3xf64>, tensor<i64>) -> (tensor<?x3xf64>, tensor<i64>)
  func.return %y : tensor<?x3xf64>
}
