// The smallest attention: the last product of an iteration reads from registers what is computed from the first one's result. It moves
// into the next iteration, between the first product's start and its wait.
// RUN: tandem-opt --overlap-products %s | FileCheck %s

// CHECK-LABEL: func.func @attention
// CHECK-SAME: (%[[Q:.*]]: tensor<64x64xf16>, %[[N:.*]]: i32)
// CHECK: %[[K:.*]] = tgpu.alloc
// CHECK: %[[V:.*]] = tgpu.alloc
// CHECK: scf.if
// The first iteration's own part; its product with V is left for later:
// CHECK: tgpu.wgmma %[[Q]], %[[K]] of
// CHECK: tgpu.wgmma_wait %{{.*}} pending 0
// CHECK: %[[FIRST:.*]] = tile.fp_to_fp
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[LHS:.*]] = %[[FIRST]])
// CHECK: %[[S:.*]] = tgpu.wgmma %[[Q]], %[[K]] of {{.*}}takesTurn
// CHECK: tgpu.await
// CHECK: %[[O:.*]] = tgpu.wgmma %[[LHS]], %[[V]] of {{.*}}, %[[SUM]] {{.*}}givesTurn
// CHECK: tgpu.wgmma_wait %[[S]] pending 1
// CHECK: arith.addf
// CHECK: %[[NEXTSUM:.*]] = tgpu.wgmma_wait %[[O]] pending 0
// CHECK: tgpu.release
// CHECK: %[[NEXT:.*]] = tile.fp_to_fp
// CHECK: scf.yield %[[NEXTSUM]], %[[NEXT]]
// The last iteration's product comes behind the loop.
// CHECK: tgpu.wgmma %{{.*}}, %[[V]] of
// CHECK: tgpu.wgmma_wait %{{.*}} pending 0
func.func @attention(%q: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %kr = tgpu.ring 2 bytes 8192
  %vr = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %v = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %kr
    %s = tgpu.wgmma %q, %k of %kr, %zero {rhsTransposed} : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    tgpu.advance %kr
    tgpu.release %kr
    %e = arith.addf %sw, %sw : tensor<64x64xf32>
    %p = tile.fp_to_fp %e : tensor<64x64xf32> -> tensor<64x64xf16>
    tgpu.await %vr
    %o = tgpu.wgmma %p, %v of %vr, %sum : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %ow = tgpu.wgmma_wait %o pending 0 : tensor<64x64xf32>
    tgpu.advance %vr
    tgpu.release %vr
    scf.yield %ow : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// Powers that take as long as the products: the other warpgroup's turn comes when this one's powers begin.
// CHECK-LABEL: func.func @powers
// CHECK: scf.for
// CHECK: tgpu.wgmma_wait %{{.*}} pending 1 {{.*}}givesTurn
func.func @powers(%q: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %kr = tgpu.ring 2 bytes 8192
  %vr = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %v = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %kr
    %s = tgpu.wgmma %q, %k of %kr, %zero {rhsTransposed} : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    tgpu.advance %kr
    tgpu.release %kr
    %e = math.exp2 %sw : tensor<64x64xf32>
    %p = tile.fp_to_fp %e : tensor<64x64xf32> -> tensor<64x64xf16>
    tgpu.await %vr
    %o = tgpu.wgmma %p, %v of %vr, %sum : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %ow = tgpu.wgmma_wait %o pending 0 : tensor<64x64xf32>
    tgpu.advance %vr
    tgpu.release %vr
    scf.yield %ow : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// A product that the loop looks at, or a loop of few iterations, stays as it is.
// CHECK-LABEL: func.func @watched
// CHECK-NOT: takes_turn
func.func @watched(%q: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %kr = tgpu.ring 2 bytes 8192
  %vr = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %v = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %kr
    %s = tgpu.wgmma %q, %k of %kr, %zero {rhsTransposed} : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    tgpu.advance %kr
    tgpu.release %kr
    %p = tile.fp_to_fp %sw : tensor<64x64xf32> -> tensor<64x64xf16>
    tgpu.await %vr
    %o = tgpu.wgmma %p, %v of %vr, %sum : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %ow = tgpu.wgmma_wait %o pending 0 : tensor<64x64xf32>
    tgpu.advance %vr
    tgpu.release %vr
    %twice = arith.addf %ow, %ow : tensor<64x64xf32>
    scf.yield %twice : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @short
// CHECK-NOT: takes_turn
func.func @short(%q: tensor<64x64xf16>) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %kr = tgpu.ring 2 bytes 8192
  %vr = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %v = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %kr
    %s = tgpu.wgmma %q, %k of %kr, %zero {rhsTransposed} : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    tgpu.advance %kr
    tgpu.release %kr
    %p = tile.fp_to_fp %sw : tensor<64x64xf32> -> tensor<64x64xf16>
    tgpu.await %vr
    %o = tgpu.wgmma %p, %v of %vr, %sum : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %ow = tgpu.wgmma_wait %o pending 0 : tensor<64x64xf32>
    tgpu.advance %vr
    tgpu.release %vr
    scf.yield %ow : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// A branch makes what the last product reads of the first one's result, as masks that only some blocks need: it is part of the way between
// the two.
// CHECK-LABEL: func.func @masked
// CHECK: scf.for
// CHECK: tgpu.wgmma {{.*}}takesTurn
// CHECK: tgpu.wgmma {{.*}}givesTurn
// CHECK: pending 1
// CHECK: scf.if
func.func @masked(%q: tensor<64x64xf16>, %n: i32, %part: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %kr = tgpu.ring 2 bytes 8192
  %vr = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %v = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %kr
    %s = tgpu.wgmma %q, %k of %kr, %zero {rhsTransposed} : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    tgpu.advance %kr
    tgpu.release %kr
    %behind = arith.cmpi sge, %i, %part : i32
    %e = scf.if %behind -> (tensor<64x64xf32>) {
      %m = arith.addf %sw, %sw : tensor<64x64xf32>
      scf.yield %m : tensor<64x64xf32>
    } else {
      scf.yield %sw : tensor<64x64xf32>
    }
    %p = tile.fp_to_fp %e : tensor<64x64xf32> -> tensor<64x64xf16>
    tgpu.await %vr
    %o = tgpu.wgmma %p, %v of %vr, %sum : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %ow = tgpu.wgmma_wait %o pending 0 : tensor<64x64xf32>
    tgpu.advance %vr
    tgpu.release %vr
    scf.yield %ow : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
