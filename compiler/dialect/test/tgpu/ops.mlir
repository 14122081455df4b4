// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// Every op of the dialect, as the passes for GPUs put them together: a ring that a producer fills and products empty.

func.func @ring(%a: !tile.ptr<f16>, %n: i64, %m: i32) {
  %one = arith.constant 1 : i64
  // CHECK: tgpu.ring 3 bytes 24576
  %r = tgpu.ring 3 bytes 24576
  // CHECK: tgpu.alloc 3 x !tile.smem<64x64xf16> swizzle 128
  %lhs = tgpu.alloc 3 x !tile.smem<64x64xf16> swizzle 128
  %rhs = tgpu.alloc 3 x !tile.smem<128x64xf16> swizzle 128
  // CHECK: tgpu.warp_specialize consumer
  tgpu.warp_specialize consumer {
    %zero = arith.constant 0.0 : f32
    // CHECK: #tgpu.layout<[64, 128], registers = [1, 1024, 8], lanes = [2, 4, 128, 256, 512], warps = []>
    %acc = tile.splat %zero {tgpu.layout = [#tgpu.layout<[64, 128], registers = [1, 1024, 8], lanes = [2, 4, 128, 256, 512], warps = []>]} : f32 -> tensor<64x128xf32>
    // CHECK: tgpu.await
    tgpu.await %r
    // CHECK: tgpu.wgmma %{{.*}} of %{{.*}}, %{{.*}} of %{{.*}}, %{{.*}} {rhsTransposed}
    %p = tgpu.wgmma %lhs of %r, %rhs of %r, %acc {rhsTransposed} : !tile.smem<64x64xf16>, !tile.smem<128x64xf16> -> tensor<64x128xf32>
    // CHECK: tgpu.wgmma_wait %{{.*}} pending 0
    %w = tgpu.wgmma_wait %p pending 0 : tensor<64x128xf32>
    %high = arith.cmpf ogt, %w, %acc : tensor<64x128xf32>
    // CHECK: tgpu.warp_any %{{.*}} : tensor<64x128xi1>
    %some = tgpu.warp_any %high : tensor<64x128xi1>
    // CHECK: tgpu.advance
    tgpu.advance %r
    // CHECK: tgpu.release
    tgpu.release %r
    // CHECK: tgpu.convert_layout
    %c = tgpu.convert_layout %w : tensor<64x128xf32>
    %t = arith.constant dense<0.0> : tensor<64x64xf16>
    // CHECK: tgpu.local_store
    tgpu.local_store %t, %lhs : tensor<64x64xf16>, !tile.smem<64x64xf16>
  } producer {
    // CHECK: tgpu.acquire
    tgpu.acquire %r
    // CHECK: tgpu.tma_load %{{.*}} shape(%{{.*}}, %{{.*}}) strides(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}) into %{{.*}} of
    tgpu.tma_load %a shape(%n, %n) strides(%n, %one) at(%m, %m) into %lhs of %r : !tile.ptr<f16>, !tile.smem<64x64xf16>
    // CHECK: tgpu.commit
    tgpu.commit %r
  }
  return
}

// A signaller stores what the consumers leave in a mailbox's buffer.
func.func @mailbox(%a: !tile.ptr<f16>, %n: i64, %m: i32) {
  %one = arith.constant 1 : i64
  // CHECK: tgpu.ring 1 bytes 0 mailbox
  %r = tgpu.ring 1 bytes 0 mailbox
  %buffer = tgpu.alloc 1 x !tile.smem<64x64xf16> swizzle 128
  tgpu.warp_specialize consumer {
    %t = arith.constant dense<0.0> : tensor<64x128xf16>
    tgpu.acquire %r
    // CHECK: tgpu.stage %{{.*}} from 64 into %{{.*}} of %{{.*}} : tensor<64x128xf16>, !tile.smem<64x64xf16>
    tgpu.stage %t from 64 into %buffer of %r : tensor<64x128xf16>, !tile.smem<64x64xf16>
    tgpu.commit %r
  } producer {
  } signaller {
    tgpu.await %r
    // CHECK: tgpu.tma_store %{{.*}} shape(%{{.*}}, %{{.*}}) strides(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}) from %{{.*}} of
    tgpu.tma_store %a shape(%n, %n) strides(%n, %one) at(%m, %m) from %buffer of %r : !tile.ptr<f16>, !tile.smem<64x64xf16>
    tgpu.release %r
  }
  return
}

// CHECK-LABEL: @cluster
func.func @cluster(%a: !tile.ptr<f16>, %n: i64) {
  %one = arith.constant 1 : i64
  // CHECK: tgpu.block_rank
  %block = tgpu.block_rank
  // CHECK: tgpu.ring 2 bytes 8192 cluster
  %r = tgpu.ring 2 bytes 8192 cluster
  %buffer = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  // CHECK: tgpu.tma_load {{.*}} multicast
  tgpu.tma_load %a shape(%n, %n) strides(%n, %one) at(%block, %block) into %buffer of %r multicast : !tile.ptr<f16>, !tile.smem<64x64xf16>
  return
}

// Copies by the block's own threads, one iteration ahead.
func.func @copies(%a: tensor<32x64x!tile.ptr<f16>>, %mask: tensor<32x64xi1>, %end: i64, %valid: i1) -> tensor<32x64xf16> {
  // CHECK: tgpu.alloc 2 x !tile.smem<32x64xf16> swizzle 64 fastest 0
  %buffer = tgpu.alloc 2 x !tile.smem<32x64xf16> swizzle 64 fastest 0
  // CHECK: tgpu.copy_ring 2 ahead 1
  // CHECK: tgpu.copy_ring 2 ahead 1 of_groups
  %r = tgpu.copy_ring 2 ahead 1
  %own = tgpu.copy_ring 2 ahead 1 of_groups
  // CHECK: tgpu.rewind
  tgpu.rewind %r
  // CHECK: tgpu.copy_async %{{.*}} mask %{{.*}} : tensor<32x64xi1> if %{{.*}} into %{{.*}} of
  tgpu.copy_async %a mask %mask : tensor<32x64xi1> if %valid into %buffer of %r : tensor<32x64x!tile.ptr<f16>>, !tile.smem<32x64xf16>
  // CHECK: tgpu.copy_async %{{.*}} end %{{.*}} if %{{.*}} into %{{.*}} of
  tgpu.copy_async %a end %end if %valid into %buffer of %r : tensor<32x64x!tile.ptr<f16>>, !tile.smem<32x64xf16>
  tgpu.commit %r
  tgpu.await %r
  // CHECK: tgpu.local_load %{{.*}} of
  %t = tgpu.local_load %buffer of %r : !tile.smem<32x64xf16> -> tensor<32x64xf16>
  return %t : tensor<32x64xf16>
}
