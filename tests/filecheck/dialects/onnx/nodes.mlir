// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

// Nodes of other domains, attributes of every kind, and constants that are no dense numbers.

func.func @nodes(%a: tensor<2x3xf32>, %b: tensor<?xi64>) -> tensor<*xf32> {
  %y, %z = onnx.Node "com.example" "Fused" version 3 %a, _, %b {number = 2, numbers = [1, 2],
      no_numbers = array<i64>, reals = array<f32: 1.0, 2.5>, word = "ä", bytes = "\FF\00", words = ["a", ""],
      strings = #onnx.strings<["a", "b"], tensor<2x!onnx.string>>, type = !onnx.opt<!onnx.seq<tensor<?x4xf32>>>}
    regions ("body" {
      ^bb0(%p: tensor<2x3xf32>):
      %q = onnx.Relu %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
      onnx.Yield %q : tensor<2x3xf32>
    }) attributes {gradc.mark = "kept"} : (tensor<2x3xf32>, tensor<?xi64>) -> (tensor<*xf32>, none)
  %c = onnx.Node "" "Constant" {sparse_value = #onnx.sparse<dense<[1.0, 2.0]> : tensor<2xf32>,
      dense<[1, 5]> : tensor<2xi64>, tensor<2x3xf32>>} : () -> tensor<2x3xf32>
  %m = onnx.Node "ai.onnx.ml" "ZipMap" %c : (tensor<2x3xf32>) -> !onnx.seq<!onnx.map<i64, tensor<f32>>>
  func.return %y : tensor<*xf32>
}
// CHECK-LABEL: func.func @nodes(
// CHECK-NEXT: %y, %z = onnx.Node "com.example" "Fused" version 3 %a, _, %b {number = 2, numbers = [1, 2], no_numbers = array<i64>, reals = array<f32: 1.000000e+00, 2.500000e+00>, word = "\C3\A4", bytes = "\FF\00", words = ["a", ""], strings = #onnx.strings<["a", "b"], tensor<2x!onnx.string>>, type = !onnx.opt<!onnx.seq<tensor<?x4xf32>>>} regions ("body" {
// CHECK-NEXT: ^bb0(%p: tensor<2x3xf32>):
// CHECK-NEXT: %q = onnx.Relu %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: onnx.Yield %q : tensor<2x3xf32>
// CHECK-NEXT: }) attributes {gradc.mark = "kept"} : (tensor<2x3xf32>, tensor<?xi64>) -> (tensor<*xf32>, none)
// CHECK-NEXT: %c = onnx.Node "" "Constant" {sparse_value = #onnx.sparse<dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>, dense<[1, 5]> : tensor<2xi64>, tensor<2x3xf32>>} : () -> tensor<2x3xf32>
// CHECK-NEXT: %m = onnx.Node "ai.onnx.ml" "ZipMap" %c : (tensor<2x3xf32>) -> !onnx.seq<!onnx.map<i64, tensor<f32>>>
// CHECK-NEXT: func.return %y : tensor<*xf32>
