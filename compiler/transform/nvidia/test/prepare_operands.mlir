// A warpgroup of its own computes the scores and what becomes of them, two others multiply: what goes over is the weights' tile and the
// factors of its rows in each iteration, and the rows' sums behind the loop.
// RUN: tandem-opt --prepare-operands=target=sm_90a %s | FileCheck %s

// CHECK-LABEL: func.func @attention
// CHECK-DAG: %[[QRING:.*]] = tgpu.ring 1 bytes 8192
// CHECK-DAG: %[[KRING:.*]] = tgpu.ring 2 bytes 65536
// CHECK: %[[W:.*]] = tgpu.ring 2 bytes 0 mailbox
// CHECK: %[[P:.*]] = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
// CHECK: %[[FACTORS:.*]] = tgpu.alloc 2 x !tile.smem<64xf32> swizzle 0
// CHECK: %[[F:.*]] = tgpu.ring 1 bytes 0 mailbox
// CHECK: %[[SUMS:.*]] = tgpu.alloc 1 x !tile.smem<64xf32> swizzle 0
// CHECK: tgpu.warp_specialize consumer {
// CHECK-NOT: %[[QRING]]
// CHECK: scf.for
// CHECK: tgpu.await %[[KRING]]
// CHECK-NOT: math.exp2
// CHECK: tgpu.await %[[W]]
// CHECK: tgpu.local_load %[[FACTORS]] of %[[W]]
// CHECK: tgpu.wgmma %[[P]] of %[[W]], %{{.*}} of %[[KRING]]
// CHECK: tgpu.wgmma_wait
// CHECK: tgpu.advance %[[W]]
// CHECK: tgpu.release %[[W]]
// CHECK: tgpu.await %[[F]]
// CHECK: tgpu.local_load %[[SUMS]] of %[[F]]
// CHECK: tgpu.advance %[[F]]
// CHECK: tgpu.release %[[F]]
// CHECK: tile.store
// CHECK: } producer {
// CHECK: } preparer {
// CHECK: tgpu.await %[[QRING]]
// CHECK: scf.for
// CHECK: tgpu.await %[[KRING]]
// CHECK: tgpu.wgmma %{{.*}} of %[[QRING]], %{{.*}} of %[[KRING]]
// CHECK: tgpu.wgmma_wait
// CHECK-NEXT: tgpu.advance %[[KRING]]
// CHECK-NEXT: tgpu.release %[[KRING]]
// CHECK: math.exp2
// CHECK: tgpu.acquire %[[W]]
// CHECK: tgpu.stage %{{.*}} from 0 into %[[P]] of %[[W]]
// CHECK: tgpu.stage %{{.*}} from 0 into %[[FACTORS]] of %[[W]]
// CHECK: tgpu.commit %[[W]]
// CHECK-NOT: tgpu.wgmma
// CHECK: tgpu.acquire %[[F]]
// CHECK: tgpu.stage %{{.*}} from 0 into %[[SUMS]] of %[[F]]
// CHECK: tgpu.commit %[[F]]
// CHECK: tgpu.release %[[QRING]]
// CHECK-NOT: tile.store
func.func @attention(%q: !tile.ptr<f16>, %k: !tile.ptr<f16>, %out: !tile.ptr<f32>, %n: i32) attributes {tile.num_warps = 8 : i32} {
  %qring = tgpu.ring 1 bytes 8192
  %qbuffer = tgpu.alloc 1 x !tile.smem<64x64xf16> swizzle 128
  %kring = tgpu.ring 2 bytes 65536
  %kbuffer = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  tgpu.warp_specialize consumer {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %none = arith.constant dense<0.0> : tensor<64xf32>
    tgpu.await %qring
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sums = %none) -> (tensor<64x64xf32>, tensor<64xf32>) : i32 {
      tgpu.await %kring
      %s = tgpu.wgmma %qbuffer of %qring, %kbuffer of %kring, %zero {rhsTransposed} : !tile.smem<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
      %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
      %most = tile.reduce(%sw) along 1 : (tensor<64x64xf32>) -> tensor<64xf32> {
      ^bb0(%a: f32, %b: f32):
        %m = arith.maxnumf %a, %b : f32
        tile.yield %m : f32
      }
      %e = math.exp2 %sw : tensor<64x64xf32>
      %factor = math.exp2 %most : tensor<64xf32>
      %next = arith.addf %sums, %factor : tensor<64xf32>
      %p = tile.fp_to_fp %e : tensor<64x64xf32> -> tensor<64x64xf16>
      %column = tile.expand_dims %factor at 1 : tensor<64xf32> -> tensor<64x1xf32>
      %factors = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x64xf32>
      %scaled = arith.mulf %acc, %factors : tensor<64x64xf32>
      %t = tgpu.wgmma %p, %kbuffer of %kring, %scaled : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
      tgpu.advance %kring
      %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
      tgpu.release %kring
      scf.yield %tw, %next : tensor<64x64xf32>, tensor<64xf32>
    }
    tgpu.advance %qring
    tgpu.release %qring
    %at = tile.make_range 0 to 64 : tensor<64xi32>
    %ptr = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %ptrs = tile.addptr %ptr, %at : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    tile.store %ptrs, %r#1 : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  } producer {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i64
    %one = arith.constant 1 : i64
    tgpu.acquire %qring
    tgpu.tma_load %q shape(%c64, %c64) strides(%c64, %one) at(%c0, %c0) into %qbuffer of %qring : !tile.ptr<f16>, !tile.smem<64x64xf16>
    tgpu.commit %qring
    scf.for %i = %c0 to %n step %c1 : i32 {
      tgpu.acquire %kring
      tgpu.tma_load %k shape(%c64, %c64) strides(%c64, %one) at(%i, %c0) into %kbuffer of %kring : !tile.ptr<f16>, !tile.smem<64x64xf16>
      tgpu.commit %kring
    }
  }
  return
}

// A store in the loop is not done twice.
// CHECK-LABEL: func.func @stores
// CHECK-NOT: preparer
func.func @stores(%k: !tile.ptr<f16>, %out: !tile.ptr<i32>, %n: i32) attributes {tile.num_warps = 8 : i32} {
  %kring = tgpu.ring 2 bytes 65536
  %kbuffer = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  tgpu.warp_specialize consumer {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
      tgpu.await %kring
      %s = tgpu.wgmma %kbuffer of %kring, %kbuffer of %kring, %zero {rhsTransposed} : !tile.smem<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
      %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
      %p = tile.fp_to_fp %sw : tensor<64x64xf32> -> tensor<64x64xf16>
      tile.store %out, %i : !tile.ptr<i32>, i32
      %t = tgpu.wgmma %p, %kbuffer of %kring, %acc : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
      tgpu.advance %kring
      %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
      tgpu.release %kring
      scf.yield %tw : tensor<64x64xf32>
    }
  } producer {
  }
  return
}

// The preparer would not wait for the signal behind which the consumers read.
// CHECK-LABEL: func.func @waits
// CHECK-NOT: preparer
func.func @waits(%k: !tile.ptr<f16>, %signal: !tile.ptr<i32>, %n: i32) attributes {tile.num_warps = 8 : i32} {
  %kring = tgpu.ring 2 bytes 65536
  %kbuffer = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %vring = tgpu.ring 2 bytes 65536
  %vbuffer = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  tgpu.warp_specialize consumer {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %token = dist.wait acquire gpu %signal[%c1] eq %c1 : !tile.ptr<i32>, i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
      tgpu.await %kring
      %s = tgpu.wgmma %kbuffer of %kring, %kbuffer of %kring, %zero {rhsTransposed} : !tile.smem<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
      %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
      tgpu.advance %kring
      tgpu.release %kring
      %p = tile.fp_to_fp %sw : tensor<64x64xf32> -> tensor<64x64xf16>
      tgpu.await %vring
      %t = tgpu.wgmma %p, %vbuffer of %vring, %acc : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
      tgpu.advance %vring
      %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
      tgpu.release %vring
      scf.yield %tw : tensor<64x64xf32>
    }
  } producer {
  }
  return
}
