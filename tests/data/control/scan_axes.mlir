// Two states, one without a part in what is asked for; slices along other axes and backwards; a state that is
// handed on as it is; a sum of what is asked for twice; an integer state.
func.func @main(%s: tensor<2xf64>, %r: tensor<2xf64>, %x: tensor<2x?x3xf64>, %v: tensor<?x2xf64>, %w: tensor<3x3xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2x?xf64>, tensor<?x3xf64>) {
  %zero = onnx.Constant dense<0> : tensor<i64>
  %y, %q, %n, %z, %m = onnx.Scan %s, %r, %zero, %x, %v {num_scan_inputs = 2, scan_input_axes = [1, -2], scan_input_directions = [1, 0], scan_output_axes = [1, 0], scan_output_directions = [0, 1]} body {
  ^bb0(%a: tensor<2xf64>, %k: tensor<2xf64>, %i: tensor<i64>, %b: tensor<2x3xf64>, %c: tensor<2xf64>):
    %one = onnx.Constant dense<1> : tensor<i64>
    %j = onnx.Add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %t = onnx.Gather %w, %i {axis = 0} : (tensor<3x3xf64>, tensor<i64>) -> tensor<3xf64>
    %0 = onnx.MatMul %b, %t : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2xf64>
    %1 = onnx.Mul %0, %a : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %2 = onnx.Mul %1, %c : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %3 = onnx.Sin %2 : (tensor<2xf64>) -> tensor<2xf64>
    %4 = onnx.Mul %3, %k : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %two = onnx.Constant dense<2> : tensor<i64>
    %l = onnx.Mod %j, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    onnx.Yield %3, %k, %l, %4, %t : tensor<2xf64>, tensor<2xf64>, tensor<i64>, tensor<2xf64>, tensor<3xf64>
  } : (tensor<2xf64>, tensor<2xf64>, tensor<i64>, tensor<2x?x3xf64>, tensor<?x2xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<i64>, tensor<2x?xf64>, tensor<?x3xf64>)
  func.return %y, %q, %z, %m : tensor<2xf64>, tensor<2xf64>, tensor<2x?xf64>, tensor<?x3xf64>
}
