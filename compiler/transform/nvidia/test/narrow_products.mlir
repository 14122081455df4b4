// Products of tiles that were both widened from one type of 16 bits multiply the narrow ones.
// RUN: tandem-opt --narrow-products %s | FileCheck %s

// CHECK-LABEL: func.func @widened
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<16x32xbf16>, %[[B:[a-z0-9]+]]: tensor<16x32xbf16>
// CHECK-DAG: %[[T:.*]] = tile.permute %[[B]] {{.*}}tensor<32x16xbf16>
// CHECK: tile.dot %[[A]], %[[T]]
// CHECK-NOT: fp_to_fp
func.func @widened(%a: tensor<16x32xbf16>, %b: tensor<16x32xbf16>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %wa = tile.fp_to_fp %a : tensor<16x32xbf16> -> tensor<16x32xf32>
  %wb = tile.fp_to_fp %b : tensor<16x32xbf16> -> tensor<16x32xf32>
  %t = tile.permute %wb [1, 0] : tensor<16x32xf32> -> tensor<32x16xf32>
  %p = tile.dot %wa, %t, %zero : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  return %p : tensor<16x16xf32>
}

// Two types, one float32 tile, and products that must not be of tf32 stay.
// CHECK-LABEL: func.func @others
// CHECK: tile.dot {{.*}}tensor<16x16xf32>, tensor<16x16xf32>
// CHECK: tile.dot {{.*}}tensor<16x16xf32>, tensor<16x16xf32>
// CHECK: tile.dot {{.*}}tensor<16x16xf32>, tensor<16x16xf32>
func.func @others(%a: tensor<16x16xbf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %wa = tile.fp_to_fp %a : tensor<16x16xbf16> -> tensor<16x16xf32>
  %wb = tile.fp_to_fp %b : tensor<16x16xf16> -> tensor<16x16xf32>
  %p = tile.dot %wa, %wb, %c : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %q = tile.dot %wa, %c, %p : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %r = tile.dot %wa, %wa, %q {precision = #tile<precision ieee>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}
