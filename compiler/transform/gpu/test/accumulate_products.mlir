// A product that only a sum reads begins with the other summand.
// RUN: tandem-opt --accumulate-products %s | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<16x16xf32>
// CHECK: %[[P:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[C]]
// CHECK-NEXT: return %[[P]]
func.func @sum(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %p = tile.dot %a, %a, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  %s = arith.addf %c, %p : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

// A product that begins with something already, that others read too, or of eight-bit floats or parts, whose sums tensor cores round.
// CHECK-LABEL: func.func @begun
// CHECK: arith.addf
func.func @begun(%a: tensor<16x16xf16>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %p = tile.dot %a, %a, %b : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  %s = arith.addf %c, %p : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}
// CHECK-LABEL: func.func @read
// CHECK: arith.addf
func.func @read(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %p = tile.dot %a, %a, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  %s = arith.addf %c, %p : tensor<16x16xf32>
  return %s, %p : tensor<16x16xf32>, tensor<16x16xf32>
}
// CHECK-LABEL: func.func @coarse
// CHECK: arith.addf
func.func @coarse(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x16xf8E4M3FN>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %p = tile.dot %a, %b, %zero : tensor<16x32xf8E4M3FN>, tensor<32x16xf8E4M3FN> -> tensor<16x16xf32>
  %s = arith.addf %c, %p : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}
// CHECK-LABEL: func.func @in_parts
// CHECK: arith.addf
func.func @in_parts(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %p = tile.dot %a, %b, %zero {precision = #tile<precision tf32x3>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %s = arith.addf %c, %p : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}
