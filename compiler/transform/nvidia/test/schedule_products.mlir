// Two products of an iteration: the second one's operands are there when the iteration begins, so it starts beside the first, and the
// first one's wait leaves it under way.
// RUN: tandem-opt --schedule-products %s | FileCheck %s

// CHECK-LABEL: func.func @two
// CHECK: scf.for
// CHECK: %[[S:.*]] = tgpu.wgmma
// CHECK: %[[T:.*]] = tgpu.wgmma
// CHECK: tgpu.wgmma_wait %[[S]] pending 1
// CHECK: arith.addf
// CHECK: tgpu.wgmma_wait %[[T]] pending 0
// CHECK: tgpu.release
func.func @two(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ring = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %ring
    %s = tgpu.wgmma %a, %k of %ring, %zero : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    %e = arith.addf %sw, %sum : tensor<64x64xf32>
    %t = tgpu.wgmma %b, %k of %ring, %zero : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
    tgpu.advance %ring
    tgpu.release %ring
    %next = arith.addf %e, %tw : tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// A product whose left operand comes from the other's result cannot start before that.
// CHECK-LABEL: func.func @dependent
// CHECK: %[[S:.*]] = tgpu.wgmma
// CHECK: tgpu.wgmma_wait %[[S]] pending 0
// CHECK: tile.fp_to_fp
// CHECK: tgpu.wgmma
// CHECK: tgpu.wgmma_wait %{{.*}} pending 0
func.func @dependent(%a: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ring = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %ring
    %s = tgpu.wgmma %a, %k of %ring, %zero : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    %p = tile.fp_to_fp %sw : tensor<64x64xf32> -> tensor<64x64xf16>
    %t = tgpu.wgmma %p, %k of %ring, %sum : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
    tgpu.advance %ring
    tgpu.release %ring
    scf.yield %tw : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// Two products, of which the second adds to the first one's result, have one wait, and both come first. With an operand in registers each has its own.
// CHECK-LABEL: func.func @chained
// CHECK: tile.load
// CHECK: %[[S:.*]] = tgpu.wgmma
// CHECK-NEXT: %[[T:.*]] = tgpu.wgmma %{{.*}}, %{{.*}} of %{{.*}}, %[[S]]
// CHECK-NOT: wgmma_wait %[[S]]
// CHECK: tgpu.wgmma_wait %[[T]] pending 0
// CHECK-NOT: tgpu.wgmma_wait
// CHECK-LABEL: func.func @in_registers
// CHECK: %[[S:.*]] = tgpu.wgmma
// CHECK-NEXT: tgpu.wgmma_wait %[[S]] pending 0
func.func @chained(%p: tensor<64x!tile.ptr<f32>>, %n: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ring = tgpu.ring 2 bytes 8192
  %q = tgpu.alloc 1 x !tile.smem<64x64xf16> swizzle 128
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %ring
    %s = tgpu.wgmma %q, %k of %ring, %zero : !tile.smem<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    %row = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    %t = tgpu.wgmma %q, %k of %ring, %sw : !tile.smem<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
    tgpu.advance %ring
    tgpu.release %ring
    %column = tile.expand_dims %row at 1 : tensor<64xf32> -> tensor<64x1xf32>
    %wide = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x64xf32>
    %e = arith.mulf %tw, %wide : tensor<64x64xf32>
    %next = arith.addf %e, %sum : tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
func.func @in_registers(%a: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ring = tgpu.ring 2 bytes 8192
  %k = tgpu.alloc 2 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    tgpu.await %ring
    %s = tgpu.wgmma %a, %k of %ring, %zero : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    %t = tgpu.wgmma %a, %k of %ring, %sw : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
    tgpu.advance %ring
    tgpu.release %ring
    %next = arith.addf %tw, %sum : tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// A load behind a product begins before it, unless a thread's registers are full of results: 32 and 32 of them here, and 64 and 64 in
// @full, where the loaded tile takes another 32. A row's numbers take one.
// CHECK-LABEL: func.func @ahead
// CHECK: scf.for
// CHECK: tile.load {{.*}} tensor<64x64xf16>
// CHECK: tgpu.wgmma
// CHECK-LABEL: func.func @full
// CHECK: scf.for
// CHECK: tile.load {{.*}} tensor<128xf32>
// CHECK: tgpu.wgmma
// CHECK: tile.load {{.*}} tensor<128x64xf16>
// CHECK: tgpu.wgmma
func.func @ahead(%a: tensor<64x64xf16>, %v: tensor<64x64x!tile.ptr<f16>>, %n: i32) -> tensor<64x64xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %k = tgpu.alloc 1 x !tile.smem<64x64xf16> swizzle 128
  %b = tgpu.alloc 1 x !tile.smem<64x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %s = tgpu.wgmma %a, %k, %zero : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<64x64xf32>
    %p = tile.fp_to_fp %sw : tensor<64x64xf32> -> tensor<64x64xf16>
    %l = tile.load %v : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    tgpu.local_store %l, %b : tensor<64x64xf16>, !tile.smem<64x64xf16>
    %t = tgpu.wgmma %p, %b, %sum : tensor<64x64xf16>, !tile.smem<64x64xf16> -> tensor<64x64xf32>
    %tw = tgpu.wgmma_wait %t pending 0 : tensor<64x64xf32>
    scf.yield %tw : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
func.func @full(%a: tensor<128x64xf16>, %v: tensor<128x64x!tile.ptr<f16>>, %rows: tensor<128x!tile.ptr<f32>>, %n: i32)
    -> tensor<128x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %none = arith.constant dense<0.0> : tensor<128x64xf32>
  %k = tgpu.alloc 1 x !tile.smem<64x128xf16> swizzle 128
  %b = tgpu.alloc 1 x !tile.smem<128x64xf16> swizzle 128
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<128x64xf32>) : i32 {
    %s = tgpu.wgmma %a, %k, %zero : tensor<128x64xf16>, !tile.smem<64x128xf16> -> tensor<128x128xf32>
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<128x128xf32>
    %m = tile.load %rows : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
    %e = tile.expand_dims %m at 1 : tensor<128xf32> -> tensor<128x1xf32>
    %w = tile.broadcast %e : tensor<128x1xf32> -> tensor<128x128xf32>
    %d = arith.subf %sw, %w : tensor<128x128xf32>
    %p = tile.fp_to_fp %d : tensor<128x128xf32> -> tensor<128x128xf16>
    %l = tile.load %v : tensor<128x64x!tile.ptr<f16>> -> tensor<128x64xf16>
    tgpu.local_store %l, %b : tensor<128x64xf16>, !tile.smem<128x64xf16>
    %t = tgpu.wgmma %p, %b, %sum : tensor<128x128xf16>, !tile.smem<128x64xf16> -> tensor<128x64xf32>
    %tw = tgpu.wgmma_wait %t pending 0 : tensor<128x64xf32>
    scf.yield %tw : tensor<128x64xf32>
  }
  return %r : tensor<128x64xf32>
}

// Copies of threads begin behind the first product, and threads read a row of the slot: the second product starts beside the first all the
// same. Alone, four warps have registers for 192 of results.
// CHECK-LABEL: func.func @copied
// CHECK: scf.for
// CHECK: %[[S:.*]] = tgpu.wgmma
// CHECK: %[[T:.*]] = tgpu.wgmma
// CHECK: tgpu.copy_async
// CHECK: tgpu.wgmma_wait %[[S]] pending 1
// CHECK: %[[U:.*]] = tgpu.wgmma
// CHECK: tgpu.wgmma_wait %[[T]] pending 1
// CHECK: %[[V:.*]] = tgpu.wgmma
// CHECK: tgpu.wgmma_wait %[[U]] pending 1
// CHECK: tgpu.wgmma_wait %[[V]] pending 0
func.func @copied(%a: !tile.smem<128x64xf16>, %p: tensor<32x64x!tile.ptr<f16>>, %m: tensor<128x32xf32>, %n: i32, %valid: i1) -> (tensor<128x64xf32>, tensor<128x64xf32>) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<128x32xf32>
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %ring = tgpu.copy_ring 3 ahead 2
  %k = tgpu.alloc 3 x !tile.smem<32x64xf16> swizzle 128
  %row = tgpu.alloc 3 x !tile.smem<32xf32> swizzle 0
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) : i32 {
    tgpu.await %ring
    %l = tgpu.local_load %row of %ring : !tile.smem<32xf32> -> tensor<32xf32>
    %s = tgpu.wgmma %a, %k of %ring, %none {rhsTransposed} : !tile.smem<128x64xf16>, !tile.smem<32x64xf16> -> tensor<128x32xf32>
    tgpu.copy_async %p if %valid into %k of %ring {tgpu.vector = array<i32: 8, 1>} : tensor<32x64x!tile.ptr<f16>>, !tile.smem<32x64xf16>
    tgpu.commit %ring
    %sw = tgpu.wgmma_wait %s pending 0 : tensor<128x32xf32>
    %l1 = tile.expand_dims %l at 0 : tensor<32xf32> -> tensor<1x32xf32>
    %l2 = tile.broadcast %l1 : tensor<1x32xf32> -> tensor<128x32xf32>
    %e = arith.subf %sw, %l2 : tensor<128x32xf32>
    %e16 = tile.fp_to_fp %e : tensor<128x32xf32> -> tensor<128x32xf16>
    %u = tgpu.wgmma %e16, %k of %ring, %x : tensor<128x32xf16>, !tile.smem<32x64xf16> -> tensor<128x64xf32>
    %uw = tgpu.wgmma_wait %u pending 0 : tensor<128x64xf32>
    %t = tgpu.wgmma %a, %k of %ring, %none {rhsTransposed} : !tile.smem<128x64xf16>, !tile.smem<32x64xf16> -> tensor<128x32xf32>
    %tw = tgpu.wgmma_wait %t pending 0 : tensor<128x32xf32>
    %d = arith.mulf %e, %tw : tensor<128x32xf32>
    %d16 = tile.fp_to_fp %d : tensor<128x32xf32> -> tensor<128x32xf16>
    %v = tgpu.wgmma %d16, %k of %ring, %y : tensor<128x32xf16>, !tile.smem<32x64xf16> -> tensor<128x64xf32>
    %vw = tgpu.wgmma_wait %v pending 0 : tensor<128x64xf32>
    scf.yield %uw, %vw : tensor<128x64xf32>, tensor<128x64xf32>
  }
  return %r#0, %r#1 : tensor<128x64xf32>, tensor<128x64xf32>
}
