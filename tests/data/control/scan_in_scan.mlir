// Each step goes through the columns of its row; only the scan outputs are read.
func.func @main(%s: tensor<2xf64>, %x: tensor<3x?xf64>) -> tensor<3x?x2xf64> {
  %y, %z = onnx.Scan %s, %x {num_scan_inputs = 1} body {
  ^bb0(%a: tensor<2xf64>, %b: tensor<?xf64>):
    %p, %q = onnx.Scan %a, %b {num_scan_inputs = 1} body {
    ^bb0(%c: tensor<2xf64>, %d: tensor<f64>):
      %0 = onnx.Mul %c, %d : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
      %1 = onnx.Add %0, %s : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      onnx.Yield %1, %1 : tensor<2xf64>, tensor<2xf64>
    } : (tensor<2xf64>, tensor<?xf64>) -> (tensor<2xf64>, tensor<?x2xf64>)
    onnx.Yield %p, %q : tensor<2xf64>, tensor<?x2xf64>
  } : (tensor<2xf64>, tensor<3x?xf64>) -> (tensor<2xf64>, tensor<3x?x2xf64>)
  func.return %z : tensor<3x?x2xf64>
}
