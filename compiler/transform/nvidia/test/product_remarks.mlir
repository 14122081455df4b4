// Which unit does a product, and why no quicker one.
// RUN: tandem-opt --select-products --assign-layouts --remarks-filter=.* -o /dev/null %s 2>&1 | FileCheck %s
// RUN: tandem-opt --select-products=target=sm_80 --assign-layouts=target=sm_80 --remarks-filter=.* -o /dev/null %s 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OLD

// CHECK: [Passed] product | Category:assign-layouts | Function=tensor_cores |
// CHECK-SAME: wgmma m64n128k16 of f16, f32 sums; left operand from registers, right one from a buffer that threads store to in between
// OLD: [Passed] product | Category:assign-layouts | Function=tensor_cores | {{.*}}mma.sync m16n8k16 of f16, f32 sums
func.func @tensor_cores() attributes {tile.num_warps = 4 : i32} {
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %b = arith.constant dense<1.0> : tensor<64x128xf16>
  %c = arith.constant dense<1.0> : tensor<64x128xf32>
  %d = tile.dot %a, %b, %c : tensor<64x64xf16>, tensor<64x128xf16> -> tensor<64x128xf32>
  return
}

// CHECK: [Missed] product | {{.*}} | Function=few_rows |
// CHECK-SAME: mma.sync m16n8k16 of f16, f32 sums, not wgmma: the result has 32 rows, and wgmma computes 64
// CHECK-SAME: Suggestion="tiles of at least 64 rows"
func.func @few_rows() attributes {tile.num_warps = 4 : i32} {
  %a = arith.constant dense<1.0> : tensor<32x64xf16>
  %b = arith.constant dense<1.0> : tensor<64x128xf16>
  %c = arith.constant dense<1.0> : tensor<32x128xf32>
  %d = tile.dot %a, %b, %c : tensor<32x64xf16>, tensor<64x128xf16> -> tensor<32x128xf32>
  return
}

// CHECK: [Missed] product | {{.*}} | Function=few_warps | {{.*}}not wgmma: wgmma takes groups of 4 warps, and the kernel has 2 warps
func.func @few_warps() attributes {tile.num_warps = 2 : i32} {
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %c = arith.constant dense<1.0> : tensor<64x64xf32>
  %d = tile.dot %a, %a, %c : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  return
}

// CHECK: [Missed] product | {{.*}} | Function=exact |
// CHECK-SAME: multiply-adds of the threads, not tensor cores: tensor cores round float32 operands
// CHECK-SAME: Suggestion="input_precision={{.*}}tf32
func.func @exact() attributes {tile.num_warps = 4 : i32} {
  %a = arith.constant dense<1.0> : tensor<64x64xf32>
  %d = tile.dot %a, %a, %a {precision = #tile<precision ieee>} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return
}
