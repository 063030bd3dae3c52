func.func @main(%x: tensor<?x5xf64>, %y: tensor<?x5xf64>) -> tensor<*xf64> {
  %last = onnx.Constant dense<-1> : tensor<i64>
  %two = onnx.Constant dense<2> : tensor<i64>
  %0 = onnx.SequenceEmpty {dtype = f64} : () -> !onnx.seq<tensor<*xf64>>
  %a = onnx.Sin %x : (tensor<?x5xf64>) -> tensor<?x5xf64>
  %1 = onnx.SequenceInsert %0, %a : (!onnx.seq<tensor<*xf64>>, tensor<?x5xf64>) -> !onnx.seq<tensor<*xf64>>
  %2 = onnx.SequenceInsert %1, %y, %last : (!onnx.seq<tensor<*xf64>>, tensor<?x5xf64>, tensor<i64>) -> !onnx.seq<tensor<*xf64>>
  %b = onnx.SequenceAt %2, %last : (!onnx.seq<tensor<*xf64>>, tensor<i64>) -> tensor<*xf64>
  %p = onnx.SplitToSequence %y, %two {axis = 1} : (tensor<?x5xf64>, tensor<i64>) -> !onnx.seq<tensor<*xf64>>
  %q = onnx.SequenceErase %p, %last : (!onnx.seq<tensor<*xf64>>, tensor<i64>) -> !onnx.seq<tensor<*xf64>>
  %r = onnx.SequenceInsert %q, %b : (!onnx.seq<tensor<*xf64>>, tensor<*xf64>) -> !onnx.seq<tensor<*xf64>>
  %o = onnx.Optional %r : (!onnx.seq<tensor<*xf64>>) -> !onnx.opt<!onnx.seq<tensor<*xf64>>>
  %s = onnx.OptionalGetElement %o : (!onnx.opt<!onnx.seq<tensor<*xf64>>>) -> !onnx.seq<tensor<*xf64>>
  %c = onnx.ConcatFromSequence %s {axis = 1} : (!onnx.seq<tensor<*xf64>>) -> tensor<*xf64>
  %d = onnx.Mul %c, %c : (tensor<*xf64>, tensor<*xf64>) -> tensor<*xf64>
  func.return %d : tensor<*xf64>
}
