// RUN: not gradc-opt %s -p select-strategy 2>&1 | filecheck %s
// RUN: gradc-opt %s -p 'legalize-types,select-strategy'
// RUN: gradc-opt %s -p 'select-strategy{target=cuda}'

// Where nothing applies, every strategy says why. legalize-types prevents it: it widens half types.
// CHECK: select-strategy-none.mlir:[[# @LINE + 2]]:3: error: [grad.conv_backward_data "dx"] no strategy applies on cpu: conv-to-conv: Conv has no f16 kernel on cpu at opset 18; {{.*}}conv-to-matmul: MatMul has no f16 kernel on cpu at opset 18; {{.*}}conv-to-col2im: Col2Im has no f16 kernel on cpu at opset 18
func.func @f16(%dy: tensor<1x2x5xf16>, %w: tensor<2x3x3xf16>) -> tensor<1x3x7xf16> {
  %dx = grad.conv_backward_data %dy, %w {strides = [1], dilations = [1], pads_begin = [0], pads_end = [0], groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x5xf16>, tensor<2x3x3xf16>) -> tensor<1x3x7xf16>
  func.return %dx : tensor<1x3x7xf16>
}
