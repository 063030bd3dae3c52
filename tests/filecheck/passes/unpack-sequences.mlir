// RUN: gradc-opt %s -p unpack-sequences | filecheck %s

// Positions count from the end where they are negative.
func.func @places(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %z: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<*xf32>, tensor<i64>) {
  %last = onnx.Constant dense<-1> : tensor<i64>
  %0 = onnx.SequenceConstruct %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> !onnx.seq<tensor<2x3xf32>>
  %1 = onnx.SequenceInsert %0, %z, %last : (!onnx.seq<tensor<2x3xf32>>, tensor<2x3xf32>, tensor<i64>) -> !onnx.seq<tensor<2x3xf32>>
  %2 = onnx.SequenceErase %1, %last : (!onnx.seq<tensor<2x3xf32>>, tensor<i64>) -> !onnx.seq<tensor<2x3xf32>>
  %at = onnx.SequenceAt %2, %last : (!onnx.seq<tensor<2x3xf32>>, tensor<i64>) -> tensor<2x3xf32>
  %all = onnx.ConcatFromSequence %1 {axis = -1} : (!onnx.seq<tensor<2x3xf32>>) -> tensor<*xf32>
  %n = onnx.SequenceLength %2 : (!onnx.seq<tensor<2x3xf32>>) -> tensor<i64>
  func.return %at, %all, %n : tensor<2x3xf32>, tensor<*xf32>, tensor<i64>
}
// CHECK-LABEL: func.func @places(
// CHECK-NEXT: %last = onnx.Constant dense<-1> : tensor<i64>
// CHECK-NEXT: %at = onnx.Identity %z : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %all = onnx.Concat %x, %z, %y {axis = -1} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
// CHECK-NEXT: %n = onnx.Constant dense<2> : tensor<i64>
// CHECK-NEXT: func.return %at, %all, %n : tensor<2x3xf32>, tensor<2x9xf32>, tensor<i64>

func.func @stack_of_parts(%x: tensor<?x5xf32>) -> tensor<*xf32> {
  %two = onnx.Constant dense<[2, 2, 1]> : tensor<3xi64>
  %0 = onnx.SplitToSequence %x, %two {axis = 1} : (tensor<?x5xf32>, tensor<3xi64>) -> !onnx.seq<tensor<*xf32>>
  %1 = onnx.SequenceErase %0 : (!onnx.seq<tensor<*xf32>>) -> !onnx.seq<tensor<*xf32>>
  %2 = onnx.SequenceMap %1 body {
  ^bb0(%a: tensor<*xf32>):
    %b = onnx.Neg %a : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %b : tensor<*xf32>
  } : (!onnx.seq<tensor<*xf32>>) -> !onnx.seq<tensor<*xf32>>
  %3 = onnx.ConcatFromSequence %2 {axis = 0, new_axis = 1} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
  func.return %3 : tensor<*xf32>
}
// CHECK-LABEL: func.func @stack_of_parts(
// CHECK-NEXT: %two = onnx.Constant dense<[2, 2, 1]> : tensor<3xi64>
// CHECK-NEXT: %0 = onnx.Constant dense<[2, 2, 1]> : tensor<3xi64>
// CHECK-NEXT: %1, %2, %3 = onnx.Split %x, %0 {axis = 1} : (tensor<?x5xf32>, tensor<3xi64>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x1xf32>)
// CHECK-NEXT: %b = onnx.Neg %1 : (tensor<?x2xf32>) -> tensor<?x2xf32>
// CHECK-NEXT: %b_1 = onnx.Neg %2 : (tensor<?x2xf32>) -> tensor<?x2xf32>
// CHECK-NEXT: %4 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %5 = onnx.Unsqueeze %b, %4 : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<1x?x2xf32>
// CHECK-NEXT: %6 = onnx.Unsqueeze %b_1, %4 : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<1x?x2xf32>
// CHECK-NEXT: %7 = onnx.Concat %5, %6 {axis = 0} : (tensor<1x?x2xf32>, tensor<1x?x2xf32>) -> tensor<2x?x2xf32>
// CHECK-NEXT: func.return %7 : tensor<2x?x2xf32>

func.func @parts_without_their_axis(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = onnx.SplitToSequence %x {axis = 0, keepdims = 0} : (tensor<2x3xf32>) -> !onnx.seq<tensor<*xf32>>
  %1 = onnx.Optional %0 : (!onnx.seq<tensor<*xf32>>) -> !onnx.opt<!onnx.seq<tensor<*xf32>>>
  %2 = onnx.OptionalGetElement %1 : (!onnx.opt<!onnx.seq<tensor<*xf32>>>) -> !onnx.seq<tensor<*xf32>>
  %one = onnx.Constant dense<1> : tensor<i64>
  %3 = onnx.SequenceAt %2, %one : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
  func.return %3 : tensor<*xf32>
}
// CHECK-LABEL: func.func @parts_without_their_axis(
// CHECK-NEXT: %0 = onnx.Constant dense<1> : tensor<2xi64>
// CHECK-NEXT: %1, %2 = onnx.Split %x, %0 {axis = 0} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<1x3xf32>, tensor<1x3xf32>)
// CHECK-NEXT: %3 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %4 = onnx.Squeeze %1, %3 : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
// CHECK-NEXT: %5 = onnx.Squeeze %2, %3 : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
// CHECK-NEXT: %one = onnx.Constant dense<1> : tensor<i64>
// CHECK-NEXT: %6 = onnx.Identity %5 : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %6 : tensor<3xf32>

// Where it stands only run time knows; so does a count of parts.
func.func @stays(%x: tensor<?x3xf32>, %i: tensor<i64>) -> (tensor<?x3xf32>, tensor<*xf32>) {
  %0 = onnx.SequenceConstruct %x, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> !onnx.seq<tensor<?x3xf32>>
  %1 = onnx.SequenceAt %0, %i : (!onnx.seq<tensor<?x3xf32>>, tensor<i64>) -> tensor<?x3xf32>
  %2 = onnx.SplitToSequence %x {axis = 0} : (tensor<?x3xf32>) -> !onnx.seq<tensor<*xf32>>
  %3 = onnx.SequenceErase %2, %i : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
  %4 = onnx.ConcatFromSequence %3 {axis = 0} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
  func.return %1, %4 : tensor<?x3xf32>, tensor<*xf32>
}
// CHECK-LABEL: func.func @stays(
// CHECK-NEXT: %0 = onnx.SequenceConstruct %x, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> !onnx.seq<tensor<?x3xf32>>
// CHECK-NEXT: %1 = onnx.SequenceAt %0, %i : (!onnx.seq<tensor<?x3xf32>>, tensor<i64>) -> tensor<?x3xf32>
// CHECK-NEXT: %2 = onnx.SplitToSequence %x {axis = 0} : (tensor<?x3xf32>) -> !onnx.seq<tensor<*xf32>>
// CHECK-NEXT: %3 = onnx.SequenceErase %2, %i : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
// CHECK-NEXT: %4 = onnx.ConcatFromSequence %3 {axis = 0} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
// CHECK-NEXT: func.return %1, %4 : tensor<?x3xf32>, tensor<*xf32>

// All parts together are the data.
func.func @together(%x: tensor<?x3xf32>) -> tensor<*xf32> {
  %0 = onnx.SplitToSequence %x {axis = 0} : (tensor<?x3xf32>) -> !onnx.seq<tensor<*xf32>>
  %1 = onnx.ConcatFromSequence %0 {axis = 0} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
  func.return %1 : tensor<*xf32>
}
// CHECK-LABEL: func.func @together(
// CHECK-NEXT: %0 = onnx.Identity %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: func.return %0 : tensor<?x3xf32>

// Of sizes that only run time knows, at a position that is a vector.
func.func @listed(%x: tensor<?x3xf32>, %sizes: tensor<?xi32>) -> tensor<*xf32> {
  %0 = onnx.SplitToSequence %x, %sizes {axis = 0} : (tensor<?x3xf32>, tensor<?xi32>) -> !onnx.seq<tensor<*xf32>>
  %1 = onnx.Constant dense<-1> : tensor<1xi64>
  %2 = onnx.SequenceAt %0, %1 : (!onnx.seq<tensor<*xf32>>, tensor<1xi64>) -> tensor<*xf32>
  func.return %2 : tensor<*xf32>
}
// CHECK-LABEL: func.func @listed(
// CHECK-NEXT: %0 = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT: %1 = onnx.Constant dense<> : tensor<0xi64>
// CHECK-NEXT: %2 = onnx.Reshape %0, %1 : (tensor<1xi64>, tensor<0xi64>) -> tensor<i64>
// CHECK-NEXT: %3 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %4 = onnx.Unsqueeze %2, %3 : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %5 = onnx.Cast %sizes {to = i64} : (tensor<?xi32>) -> tensor<?xi64>
// CHECK-NEXT: %6 = onnx.Constant dense<0> : tensor<i64>
// CHECK-NEXT: %7 = onnx.CumSum %5, %6 : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT: %8 = onnx.Gather %7, %4 {axis = 0} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %9 = onnx.Gather %5, %4 {axis = 0} : (tensor<?xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %10 = onnx.Sub %8, %9 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %11 = onnx.Slice %x, %10, %8, %3 : (tensor<?x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3xf32>
// CHECK-NEXT: func.return %11 : tensor<?x3xf32>

func.func @of_a_size(%x: tensor<?x3xf32>, %size: tensor<i64>, %i: tensor<i64>) -> tensor<*xf32> {
  %0 = onnx.SplitToSequence %x, %size {axis = 0} : (tensor<?x3xf32>, tensor<i64>) -> !onnx.seq<tensor<*xf32>>
  %1 = onnx.SequenceAt %0, %i : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
  func.return %1 : tensor<*xf32>
}
// CHECK-LABEL: func.func @of_a_size(
// CHECK-NEXT: %0 = onnx.Cast %i {to = i64} : (tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %1 = onnx.Cast %size {to = i64} : (tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %2 = onnx.Constant dense<0> : tensor<i64>
// CHECK-NEXT: %3 = onnx.Less %0, %2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT: %4 = onnx.Shape %x : (tensor<?x3xf32>) -> tensor<2xi64>
// CHECK-NEXT: %5 = onnx.Constant dense<0> : tensor<i64>
// CHECK-NEXT: %6 = onnx.Gather %4, %5 {axis = 0} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %7 = onnx.Cast %size {to = i64} : (tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %8 = onnx.Add %6, %7 : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %9 = onnx.Constant dense<1> : tensor<i64>
// CHECK-NEXT: %10 = onnx.Sub %8, %9 : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %11 = onnx.Div %10, %7 : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %12 = onnx.Add %0, %11 : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %13 = onnx.Where %3, %12, %0 : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %14 = onnx.Mul %13, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT: %15 = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %16 = onnx.Unsqueeze %14, %15 : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT: %17 = onnx.Add %16, %1 : (tensor<1xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %18 = onnx.Slice %x, %16, %17, %15 : (tensor<?x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x3xf32>
// CHECK-NEXT: func.return %18 : tensor<?x3xf32>
