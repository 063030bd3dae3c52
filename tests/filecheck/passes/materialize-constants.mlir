// RUN: gradc-opt %s -p materialize-constants | filecheck %s

func.func @dense() -> (tensor<2xi32>, tensor<3xf32>) {
  %a = arith.constant dense<[4, 5]> : tensor<2xi32>
  %b = arith.constant dense<1.5> : tensor<3xf32>
  func.return %a, %b : tensor<2xi32>, tensor<3xf32>
}
// CHECK-LABEL: func.func @dense(
// CHECK-SAME: -> (tensor<2xi32>, tensor<3xf32>)
// CHECK-NEXT: %a = onnx.Constant dense<[4, 5]> : tensor<2xi32>
// CHECK-NEXT: %b = onnx.Constant dense<1.500000e+00> : tensor<3xf32>
// CHECK-NEXT: func.return %a, %b : tensor<2xi32>, tensor<3xf32>

// What is no tensor is not ours.
func.func @scalar() -> i32 {
  %c = arith.constant 3 : i32
  func.return %c : i32
}
// CHECK-LABEL: func.func @scalar(
// CHECK-SAME: -> i32
// CHECK-NEXT: %c = arith.constant 3 : i32
// CHECK-NEXT: func.return %c : i32
