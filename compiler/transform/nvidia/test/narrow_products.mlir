// Products of tiles that were both widened from one type of 16 bits multiply the narrow ones; scaled ones multiply what is decoded,
// precise ones what tf32 holds and the rest.
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

// Float32 with nearly all bits: what tf32 holds of each operand by the other one's rest, which gives a number or nothing, then these parts.
// CHECK-LABEL: func.func @in_parts
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<16x16xf32>, %[[Y:[a-z0-9]+]]: tensor<16x16xf32>, %[[ACC:[a-z0-9]+]]: tensor<16x16xf32>
// CHECK: arith.andi {{.*}} : tensor<16x16xi32>
// CHECK-NEXT: %[[A:.*]] = tile.bitcast {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: %[[AREST:.*]] = arith.subf %[[X]], %[[A]]
// CHECK: %[[B:.*]] = tile.bitcast {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: %[[BREST:.*]] = arith.subf %[[Y]], %[[B]]
// CHECK: %[[FIRST:.*]] = tile.dot %[[AREST]], %[[B]], %{{.*}} :
// CHECK: %[[RESTS:.*]] = tile.dot %[[A]], %[[BREST]], %[[FIRST]] :
// CHECK: %[[IS:.*]] = arith.cmpf ord, %[[RESTS]], %[[RESTS]]
// CHECK: %[[SOME:.*]] = arith.select %[[IS]], %[[RESTS]]
// CHECK: %[[P:.*]] = tile.dot %[[A]], %[[B]], %[[SOME]] {precision = #tile<precision tf32x3>} :
// CHECK: arith.addf %[[ACC]], %[[P]]
func.func @in_parts(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %acc: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %p = tile.dot %x, %y, %acc {precision = #tile<precision tf32x3>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %p : tensor<16x16xf32>
}

// A loop carries the rests' sum beside the other; what is no number there is left out behind the loop.
// CHECK-LABEL: func.func @carried
// CHECK: %[[SUMS:.*]]:2 = scf.for {{.*}} iter_args(%[[TOTAL:.*]] = %{{.*}}, %[[OTHERS:.*]] = %{{.*}}) ->
// CHECK: %[[FIRST:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[OTHERS]] :
// CHECK: %[[RESTS:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[FIRST]] :
// CHECK: %[[P:.*]] = tile.dot %{{.*}}, %{{.*}}, %{{.*}} {precision = #tile<precision tf32x3>} :
// CHECK: %[[NEXT:.*]] = arith.addf %[[TOTAL]], %[[P]]
// CHECK-NEXT: scf.yield %[[NEXT]], %[[RESTS]]
// CHECK: tile.num_stages = 4
// CHECK: %[[IS:.*]] = arith.cmpf ord, %[[SUMS]]#1, %[[SUMS]]#1
// CHECK: %[[SOME:.*]] = arith.select %[[IS]], %[[SUMS]]#1
// CHECK: arith.addf %[[SUMS]]#0, %[[SOME]]
func.func @carried(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %acc: tensor<16x16xf32>, %n: i32) -> tensor<16x16xf32> attributes {tile.num_warps = 4 : i32} {
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %sum = scf.for %i = %none to %n step %one iter_args(%s = %acc) -> tensor<16x16xf32> : i32 {
    %p = tile.dot %x, %y, %zero {precision = #tile<precision tf32x3>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %next = arith.addf %s, %p : tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  } {tile.num_stages = 4 : i32}
  return %sum : tensor<16x16xf32>
}

// Two parts of bfloat16 make three products, three parts six.
// CHECK-LABEL: func.func @of_bfloat
// CHECK-COUNT-9: tile.dot {{.*}} : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
// CHECK-NOT: tile.dot
// CHECK: return
func.func @of_bfloat(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %acc: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %p = tile.dot %x, %y, %acc {precision = #tile<precision bf16x3>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %q = tile.dot %x, %y, %p {precision = #tile<precision bf16x6>} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %q : tensor<16x16xf32>
}

// Operands in a microscaling format are decoded, and scaled by one factor for 32 neighbours along K. Numbers of four bits come apart along
// K. Where float16 takes part, bfloat16 has too few bits.
// CHECK-LABEL: func.func @scaled
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<16x64xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<16x2xi8>, %[[Y:[a-z0-9]+]]: tensor<32x8xi8>
// CHECK: %[[NUMBERS:.*]] = tile.fp_to_fp %[[X]] {{.*}}tensor<16x64xbf16>
// CHECK: tile.expand_dims {{.*}}tensor<16x2x1xbf16>
// CHECK: tile.broadcast {{.*}}tensor<16x2x32xbf16>
// CHECK: %[[FACTORS:.*]] = tile.reshape {{.*}}tensor<16x64xbf16>
// CHECK: %[[A:.*]] = arith.mulf %[[NUMBERS]], %[[FACTORS]]
// CHECK: arith.extui %[[Y]] : tensor<32x8xi8> to tensor<32x8xi16>
// CHECK: tile.join {{.*}}tensor<32x8x2xbf16>
// CHECK: tile.permute {{.*}} [0, 2, 1] {{.*}}tensor<32x2x8xbf16>
// CHECK: %[[B:.*]] = tile.reshape {{.*}}tensor<64x8xbf16>
// CHECK: tile.dot %[[A]], %[[B]]
// CHECK-NOT: tile.dot_scaled
func.func @scaled(%x: tensor<16x64xf8E4M3FN>, %xs: tensor<16x2xi8>, %y: tensor<32x8xi8>, %acc: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = tile.dot_scaled %x e4m3 scale %xs : tensor<16x2xi8>, %y e2m1, %acc {lhsKPack = true, rhsKPack = true} : tensor<16x64xf8E4M3FN>, tensor<32x8xi8> -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @of_half
// CHECK: tile.dot {{.*}}tensor<16x32xf32>, tensor<32x8xf32>
func.func @of_half(%x: tensor<16x32xf16>, %y: tensor<32x8xf8E5M2>, %acc: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = tile.dot_scaled %x fp16, %y e5m2, %acc {lhsKPack = true, rhsKPack = true} : tensor<16x32xf16>, tensor<32x8xf8E5M2> -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
