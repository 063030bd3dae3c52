// RUN: gradc-opt %s | gradc-opt | filecheck %s
// RUN: gradc-opt %s --print-op-generic | gradc-opt | filecheck %s

func.func @sequences(%x: tensor<2x3xf32>, %i: tensor<i64>) -> tensor<*xf32> {
  %s0 = onnx.SequenceConstruct %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> !onnx.seq<tensor<2x3xf32>>
  %s1 = onnx.SequenceEmpty {dtype = f16} : () -> !onnx.seq<tensor<*xf16>>
  %s2 = onnx.SequenceInsert %s0, %x, %i : (!onnx.seq<tensor<2x3xf32>>, tensor<2x3xf32>, tensor<i64>) -> !onnx.seq<tensor<2x3xf32>>
  %s3 = onnx.SequenceErase %s2, %i : (!onnx.seq<tensor<2x3xf32>>, tensor<i64>) -> !onnx.seq<tensor<2x3xf32>>
  %a = onnx.SequenceAt %s3, %i : (!onnx.seq<tensor<2x3xf32>>, tensor<i64>) -> tensor<2x3xf32>
  %n = onnx.SequenceLength %s3 : (!onnx.seq<tensor<2x3xf32>>) -> tensor<i64>
  %s4 = onnx.SplitToSequence %a {axis = 1} : (tensor<2x3xf32>) -> !onnx.seq<tensor<*xf32>>
  %o = onnx.Optional %s4 : (!onnx.seq<tensor<*xf32>>) -> !onnx.opt<!onnx.seq<tensor<*xf32>>>
  %has = onnx.OptionalHasElement %o : (!onnx.opt<!onnx.seq<tensor<*xf32>>>) -> tensor<i1>
  %s5 = onnx.OptionalGetElement %o : (!onnx.opt<!onnx.seq<tensor<*xf32>>>) -> !onnx.seq<tensor<*xf32>>
  %y = onnx.ConcatFromSequence %s5 {axis = 0} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
// CHECK-LABEL: func.func @sequences(
// CHECK-NEXT: %s0 = onnx.SequenceConstruct %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> !onnx.seq<tensor<2x3xf32>>
// CHECK-NEXT: %s1 = onnx.SequenceEmpty {dtype = f16} : () -> !onnx.seq<tensor<*xf16>>
// CHECK-NEXT: %s2 = onnx.SequenceInsert %s0, %x, %i : (!onnx.seq<tensor<2x3xf32>>, tensor<2x3xf32>, tensor<i64>) -> !onnx.seq<tensor<2x3xf32>>
// CHECK-NEXT: %s3 = onnx.SequenceErase %s2, %i : (!onnx.seq<tensor<2x3xf32>>, tensor<i64>) -> !onnx.seq<tensor<2x3xf32>>
// CHECK-NEXT: %a = onnx.SequenceAt %s3, %i : (!onnx.seq<tensor<2x3xf32>>, tensor<i64>) -> tensor<2x3xf32>
// CHECK-NEXT: %n = onnx.SequenceLength %s3 : (!onnx.seq<tensor<2x3xf32>>) -> tensor<i64>
// CHECK-NEXT: %s4 = onnx.SplitToSequence %a {axis = 1} : (tensor<2x3xf32>) -> !onnx.seq<tensor<*xf32>>
// CHECK-NEXT: %o = onnx.Optional %s4 : (!onnx.seq<tensor<*xf32>>) -> !onnx.opt<!onnx.seq<tensor<*xf32>>>
// CHECK-NEXT: %has = onnx.OptionalHasElement %o : (!onnx.opt<!onnx.seq<tensor<*xf32>>>) -> tensor<i1>
// CHECK-NEXT: %s5 = onnx.OptionalGetElement %o : (!onnx.opt<!onnx.seq<tensor<*xf32>>>) -> !onnx.seq<tensor<*xf32>>
// CHECK-NEXT: %y = onnx.ConcatFromSequence %s5 {axis = 0} : (!onnx.seq<tensor<*xf32>>) -> tensor<*xf32>
// CHECK-NEXT: func.return %y : tensor<*xf32>

func.func @random(%x: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>, tensor<4xf64>, tensor<2x3xf16>, tensor<2x5xi32>) {
  %a = onnx.RandomNormal {shape = [4]} : () -> tensor<4xf32>
  %b = onnx.RandomNormalLike %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = onnx.RandomUniform {dtype = f64, shape = [4]} : () -> tensor<4xf64>
  %d = onnx.RandomUniformLike %x {dtype = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %e = onnx.Multinomial %x {sample_size = 5} : (tensor<2x3xf32>) -> tensor<2x5xi32>
  func.return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<2x3xf32>, tensor<4xf64>, tensor<2x3xf16>, tensor<2x5xi32>
}
// CHECK-LABEL: func.func @random(
// CHECK-NEXT: %a = onnx.RandomNormal {shape = [4]} : () -> tensor<4xf32>
// CHECK-NEXT: %b = onnx.RandomNormalLike %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %c = onnx.RandomUniform {dtype = f64, shape = [4]} : () -> tensor<4xf64>
// CHECK-NEXT: %d = onnx.RandomUniformLike %x {dtype = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK-NEXT: %e = onnx.Multinomial %x {sample_size = 5} : (tensor<2x3xf32>) -> tensor<2x5xi32>
// CHECK-NEXT: func.return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<2x3xf32>, tensor<4xf64>, tensor<2x3xf16>, tensor<2x5xi32>

func.func @control(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<*xf32>) {
  %a = onnx.If %c then_branch {
    %t = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %t : tensor<2xf32>
  } else_branch {
    onnx.Yield %x : tensor<2xf32>
  } : (tensor<i1>) -> tensor<2xf32>
  %b = onnx.Loop %n, _, %x body {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2xf32>):
    %w = onnx.Add %v, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %go, %w : tensor<i1>, tensor<2xf32>
  } : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32>
  %d, %e = onnx.Scan %x, %x {num_scan_inputs = 1} body {
  ^bb0(%state: tensor<2xf32>, %element: tensor<f32>):
    %s = onnx.Mul %state, %element : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    onnx.Yield %s, %s : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<*xf32>)
  func.return %a, %b, %d, %e : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<*xf32>
}
// CHECK-LABEL: func.func @control(
// CHECK-NEXT: %a = onnx.If %c then_branch {
// CHECK-NEXT: %t = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: onnx.Yield %t : tensor<2xf32>
// CHECK-NEXT: } else_branch {
// CHECK-NEXT: onnx.Yield %x : tensor<2xf32>
// CHECK-NEXT: } : (tensor<i1>) -> tensor<2xf32>
// CHECK-NEXT: %b = onnx.Loop %n, _, %x body {
// CHECK-NEXT: ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2xf32>):
// CHECK-NEXT: %w = onnx.Add %v, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: onnx.Yield %go, %w : tensor<i1>, tensor<2xf32>
// CHECK-NEXT: } : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %d, %e = onnx.Scan %x, %x {num_scan_inputs = 1} body {
// CHECK-NEXT: ^bb0(%state: tensor<2xf32>, %element: tensor<f32>):
// CHECK-NEXT: %s = onnx.Mul %state, %element : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: onnx.Yield %s, %s : tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT: } : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<*xf32>)
// CHECK-NEXT: func.return %a, %b, %d, %e : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<*xf32>

func.func @map(%s: !onnx.seq<tensor<2xf32>>) -> !onnx.seq<tensor<2xf32>> {
  %r = onnx.SequenceMap %s body {
  ^bb0(%v: tensor<2xf32>):
    %w = onnx.Neg %v : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %w : tensor<2xf32>
  } : (!onnx.seq<tensor<2xf32>>) -> !onnx.seq<tensor<2xf32>>
  func.return %r : !onnx.seq<tensor<2xf32>>
}
// CHECK-LABEL: func.func @map(
// CHECK-NEXT: %r = onnx.SequenceMap %s body {
// CHECK-NEXT: ^bb0(%v: tensor<2xf32>):
// CHECK-NEXT: %w = onnx.Neg %v : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: onnx.Yield %w : tensor<2xf32>
// CHECK-NEXT: } : (!onnx.seq<tensor<2xf32>>) -> !onnx.seq<tensor<2xf32>>
// CHECK-NEXT: func.return %r : !onnx.seq<tensor<2xf32>>

func.func @pools(%x: tensor<1x2x4x4xf32>, %rois: tensor<3x5xf32>) -> (tensor<1x2x1x1xf32>, tensor<3x2x2x2xf32>) {
  %a = onnx.GlobalLpPool %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  %b = onnx.MaxRoiPool %x, %rois {pooled_shape = [2, 2]} : (tensor<1x2x4x4xf32>, tensor<3x5xf32>) -> tensor<3x2x2x2xf32>
  func.return %a, %b : tensor<1x2x1x1xf32>, tensor<3x2x2x2xf32>
}
// CHECK-LABEL: func.func @pools(
// CHECK-NEXT: %a = onnx.GlobalLpPool %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT: %b = onnx.MaxRoiPool %x, %rois {pooled_shape = [2, 2]} : (tensor<1x2x4x4xf32>, tensor<3x5xf32>) -> tensor<3x2x2x2xf32>
// CHECK-NEXT: func.return %a, %b : tensor<1x2x1x1xf32>, tensor<3x2x2x2xf32>
