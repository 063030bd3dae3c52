// RUN: gradc-opt %s -p normalize-sequences | filecheck %s

// The empty sequence has no shape of its own, what is inserted has one.
func.func @main(%x: tensor<2xf32>) -> tensor<*xf32> {
  %zero = onnx.Constant dense<0> : tensor<i64>
  %s0 = onnx.SequenceEmpty {dtype = f32} : () -> !onnx.seq<tensor<*xf32>>
  %s1 = onnx.SequenceInsert %s0, %x : (!onnx.seq<tensor<*xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<*xf32>>
  %y = onnx.SequenceAt %s1, %zero : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %zero = onnx.Constant dense<0> : tensor<i64>
// CHECK-NEXT: %s0 = onnx.SequenceEmpty {dtype = f32} : () -> !onnx.seq<tensor<*xf32>>
// CHECK-NEXT: %s1 = onnx.SequenceInsert %s0, %x : (!onnx.seq<tensor<*xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<*xf32>>
// CHECK-NEXT: %y = onnx.SequenceAt %s1, %zero : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<?xf32>
// CHECK-NEXT: func.return %y : tensor<?xf32>
