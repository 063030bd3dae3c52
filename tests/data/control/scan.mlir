// A state, a scan output, and a value from around, which each step reads.
func.func @main(%s: tensor<3xf64>, %x: tensor<?x4xf64>, %w: tensor<3xf64>) -> (tensor<3xf64>, tensor<?x3xf64>) {
  %y, %z = onnx.Scan %s, %x {num_scan_inputs = 1} body {
  ^bb0(%a: tensor<3xf64>, %b: tensor<4xf64>):
    %axes = onnx.Constant dense<0> : tensor<1xi64>
    %0 = onnx.ReduceSum %b, %axes {keepdims = 1} : (tensor<4xf64>, tensor<1xi64>) -> tensor<1xf64>
    %1 = onnx.Mul %a, %w : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %2 = onnx.Add %1, %0 : (tensor<3xf64>, tensor<1xf64>) -> tensor<3xf64>
    %3 = onnx.Tanh %2 : (tensor<3xf64>) -> tensor<3xf64>
    %4 = onnx.Mul %3, %a : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    onnx.Yield %3, %4 : tensor<3xf64>, tensor<3xf64>
  } : (tensor<3xf64>, tensor<?x4xf64>) -> (tensor<3xf64>, tensor<?x3xf64>)
  func.return %y, %z : tensor<3xf64>, tensor<?x3xf64>
}
