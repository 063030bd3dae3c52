// Several results, one of integers, one that only one branch makes of what is around; a branch that yields what
// is around; a branch within a branch, which reads what both have around.
func.func @main(%c: tensor<i1>, %d: tensor<i1>, %x: tensor<?x3xf64>, %w: tensor<3xf64>) -> (tensor<?x3xf64>, tensor<?x3xf64>) {
  %e = onnx.Exp %x : (tensor<?x3xf64>) -> tensor<?x3xf64>
  %y, %z, %i = onnx.If %c then_branch {
    %0 = onnx.Mul %e, %w : (tensor<?x3xf64>, tensor<3xf64>) -> tensor<?x3xf64>
    %1 = onnx.If %d then_branch {
      %2 = onnx.Mul %0, %0 : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
      %3 = onnx.Relu %2 : (tensor<?x3xf64>) -> tensor<?x3xf64>
      onnx.Yield %3 : tensor<?x3xf64>
    } else_branch {
      %2 = onnx.Sin %w : (tensor<3xf64>) -> tensor<3xf64>
      %3 = onnx.Add %x, %2 : (tensor<?x3xf64>, tensor<3xf64>) -> tensor<?x3xf64>
      onnx.Yield %3 : tensor<?x3xf64>
    } : (tensor<i1>) -> tensor<?x3xf64>
    %axes = onnx.Constant dense<0> : tensor<1xi64>
    %4 = onnx.ReduceSum %1, %axes {keepdims = 1} : (tensor<?x3xf64>, tensor<1xi64>) -> tensor<1x3xf64>
    %5 = onnx.ArgMax %0 {axis = 1, keepdims = 0} : (tensor<?x3xf64>) -> tensor<?xi64>
    onnx.Yield %1, %4, %5 : tensor<?x3xf64>, tensor<1x3xf64>, tensor<?xi64>
  } else_branch {
    %5 = onnx.ArgMax %x {axis = 1, keepdims = 0} : (tensor<?x3xf64>) -> tensor<?xi64>
    onnx.Yield %e, %e, %5 : tensor<?x3xf64>, tensor<?x3xf64>, tensor<?xi64>
  } : (tensor<i1>) -> (tensor<?x3xf64>, tensor<?x3xf64>, tensor<?xi64>)
  %axes = onnx.Constant dense<1> : tensor<1xi64>
  %u = onnx.Unsqueeze %i, %axes : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %v = onnx.GatherElements %y, %u {axis = 1} : (tensor<?x3xf64>, tensor<?x1xi64>) -> tensor<?x1xf64>
  %k = onnx.Mul %v, %y : (tensor<?x1xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
  %m = onnx.Mul %z, %w : (tensor<?x3xf64>, tensor<3xf64>) -> tensor<?x3xf64>
  func.return %k, %m : tensor<?x3xf64>, tensor<?x3xf64>
}
