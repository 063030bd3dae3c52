func.func @main(%x: tensor<?x3xf64>, %y: tensor<?x3xf64>) -> tensor<*xf64> {
  %0 = onnx.SequenceConstruct %x, %y : (tensor<?x3xf64>, tensor<?x3xf64>) -> !onnx.seq<tensor<?x3xf64>>
  %1 = onnx.SequenceMap %0, %y body {
  ^bb0(%a: tensor<?x3xf64>, %b: tensor<?x3xf64>):
    %c = onnx.Mul %a, %b : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
    onnx.Yield %c : tensor<?x3xf64>
  } : (!onnx.seq<tensor<?x3xf64>>, tensor<?x3xf64>) -> !onnx.seq<tensor<*xf64>>
  %2 = onnx.ConcatFromSequence %1 {axis = -1, new_axis = 1} : (!onnx.seq<tensor<*xf64>>) -> tensor<*xf64>
  func.return %2 : tensor<*xf64>
}
