// The decisions of select-products, each on the smallest kernel that shows it: rings, their slots, roles, units.
// RUN: tandem-opt --select-products=target=sm_90a %s | FileCheck %s
// RUN: tandem-opt --select-products=target=sm_90a --remarks-filter=.* -o /dev/null %s 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: tandem-opt --select-products=target=sm_80 %s | FileCheck %s --check-prefix=OLDER

// Both operands of a loop's sum come through one ring of as many slots as were asked for. An iteration's product stays under way while
// the next one's starts, and releases the slot of the one before.
// CHECK-LABEL: func.func @ring
// CHECK: %[[RING:.*]] = tgpu.ring 4 bytes 16384
// CHECK: %[[A:.*]] = tgpu.alloc 4 x !tile.smem<64x64xf16>
// CHECK: %[[B:.*]] = tgpu.alloc 4 x !tile.smem<64x64xf16>
// CHECK: tgpu.warp_specialize consumer
// CHECK: scf.for
// CHECK: tgpu.await %[[RING]]
// CHECK: %[[P:.*]] = tgpu.wgmma %[[A]] of %[[RING]], %[[B]] of %[[RING]], %{{.*}} {beginsAtZero}
// CHECK: tgpu.wgmma_wait %[[P]] pending 1
// CHECK: tgpu.advance %[[RING]]
// CHECK: scf.if
// CHECK: tgpu.release %[[RING]]
// CHECK: } producer {
// CHECK: scf.for
// CHECK: tgpu.acquire %[[RING]]
// CHECK: tgpu.tma_load {{.*}} into %[[A]] of %[[RING]]
// CHECK: tgpu.tma_load {{.*}} into %[[B]] of %[[RING]]
// CHECK: tgpu.commit %[[RING]]
// WHY-COUNT-2: Function=ring | {{.*}}copied by TMA, by a producer warp, into a ring of 4 slots
// Without wgmma all stays as it is.
// OLDER-LABEL: func.func @ring
// OLDER-NOT: tgpu
func.func @ring(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// A sum that the loop looks at is awaited where it stands, and its slot released there.
// CHECK-LABEL: func.func @watched
// CHECK: %[[P:.*]] = tgpu.wgmma
// CHECK: tgpu.wgmma_wait %[[P]] pending 0
// CHECK: tgpu.advance
// CHECK-NEXT: tgpu.release
func.func @watched(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %w = arith.addf %s, %s : tensor<64x64xf32>
    scf.yield %w : tensor<64x64xf32>
  }
  tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// Loops one after the other fill the same slots in turn.
// CHECK-LABEL: func.func @turns
// CHECK: %[[RING:.*]] = tgpu.ring
// CHECK-NOT: tgpu.ring
// CHECK: tgpu.wgmma %{{.*}} of %[[RING]]
// CHECK: tgpu.wgmma %{{.*}} of %[[RING]]
func.func @turns(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r0 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %r0) -> (tensor<64x64xf32>) : i32 {
    %a = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %b = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// A tile that comes before the loop has one slot of a ring of its own, held until the loop ends.
// CHECK-LABEL: func.func @once
// CHECK-DAG: tgpu.ring 1 bytes 8192
// CHECK-DAG: tgpu.ring 4 bytes 8192
// CHECK: tgpu.warp_specialize
// WHY: Function=once | {{.*}}copied by TMA, by a producer warp, once for the loops behind it
func.func @once(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// So does a tile that comes before a loop in the body of another, of a kind that nobody counts.
// CHECK-LABEL: func.func @once_a_round
// CHECK-DAG: tgpu.ring 1 bytes 8192
// CHECK-DAG: tgpu.ring 4 bytes 8192
// CHECK: tgpu.warp_specialize
// CHECK: scf.while
// CHECK: tgpu.await %[[A:.*]]
// CHECK: scf.for
// CHECK: tgpu.release %[[A]]
// CHECK: producer
// CHECK: scf.while
// CHECK: tgpu.acquire %[[A]]
// CHECK: scf.for
// WHY: Function=once_a_round | {{.*}}copied by TMA, by a producer warp, once for the loops behind it
func.func @once_a_round(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %end = scf.while (%at = %c0) : (i32) -> i32 {
    %more = arith.cmpi slt, %at, %n : i32
    scf.condition(%more) %at : i32
  } do {
  ^bb0(%at: i32):
    %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%at, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
      %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %s : tensor<64x64xf32>
    }
    tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%at, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
    %next = arith.addi %at, %c1 : i32
    scf.yield %next : i32
  }
  return
}

// A tile that others than products read, too, is loaded as ever, and wgmma reads it from a buffer of its own.
// CHECK-LABEL: func.func @read
// CHECK-NOT: tgpu.warp_specialize
// CHECK: %[[B:.*]] = tile.block_load
// CHECK: tgpu.local_store %[[B]]
// CHECK: tgpu.wgmma
// WHY: Function=read | {{.*}}not copied by TMA: not only products of one loop read it
func.func @read(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %f = tile.fp_to_fp %b : tensor<64x64xf16> -> tensor<64x64xf32>
    %w = arith.addf %s, %f : tensor<64x64xf32>
    scf.yield %w : tensor<64x64xf32>
  }
  tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// A producer is told how often a loop runs that a loaded tile decides.
// CHECK-LABEL: func.func @told
// CHECK: tgpu.warp_specialize
// CHECK: %[[N:.*]] = tile.reduce
// CHECK: simt.smem_store %[[N]], %[[PLACE:.*]][
// CHECK: tgpu.release
// CHECK: producer
// CHECK: tgpu.acquire
// CHECK: %[[N:.*]] = simt.smem_load %[[PLACE]][
// CHECK: scf.for {{.*}} to %[[N]]
// WHY: Function=told | {{.*}}copied by TMA, by a producer warp
func.func @told(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32,
    %q: tensor<64x!tile.ptr<i32>>, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = tile.load %q : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  %k = tile.reduce(%t) along 0 : (tensor<64xi32>) -> i32 {
  ^bb0(%u: i32, %v: i32):
    %uv = arith.addi %u, %v : i32
    tile.yield %uv : i32
  }
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// A producer is told what a tile decides for a loop of copies each time.
// CHECK-LABEL: func.func @decided
// CHECK: tgpu.warp_specialize consumer
// CHECK: scf.for
// CHECK: tile.reduce
// CHECK: simt.smem_store
// CHECK: producer
// CHECK: scf.for
// CHECK: %[[TOLD:.*]] = simt.smem_load
// CHECK-NEXT: tgpu.commit
// CHECK-NEXT: scf.for {{.*}} to %[[TOLD]]
func.func @decided(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32,
    %q: tensor<64x!tile.ptr<i32>>, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %j = %c0 to %n step %c1 : i32 {
    %t = tile.load %q : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
    %k = tile.reduce(%t) along 0 : (tensor<64xi32>) -> i32 {
    ^bb0(%u: i32, %v: i32):
      %uv = arith.addi %u, %v : i32
      tile.yield %uv : i32
    }
    %r = scf.for %i = %c0 to %k step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
      %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
      %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %s : tensor<64x64xf32>
    }
    tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  }
  return
}

// In each iteration of the loop of copies it is not told: it would never be ahead.
// CHECK-LABEL: func.func @decided_each
// CHECK-NOT: tgpu.warp_specialize
// WHY: Function=decided_each | {{.*}}not copied by TMA: a producer warp cannot run ahead of what decides the loop or its addresses
func.func @decided_each(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32,
    %q: tensor<64x!tile.ptr<i32>>, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %t = tile.load %q : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
      %i = tile.reduce(%t) along 0 : (tensor<64xi32>) -> i32 {
      ^bb0(%u: i32, %v: i32):
        %uv = arith.addi %u, %v : i32
        tile.yield %uv : i32
      }
      %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
      %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
      %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %s : tensor<64x64xf32>
    }
    tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// Two slots of these tiles have no room.
// CHECK-LABEL: func.func @large
// CHECK-NOT: tgpu.warp_specialize
// WHY: Function=large | {{.*}}not copied by TMA: shared memory has no room for two slots of the loop's tiles
func.func @large(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32, %o: !tile.ptr<f32>)
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) : i32 {
    %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<128x512xf16>
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<512x128xf16>
    %s = tile.dot %a, %b, %sum : tensor<128x512xf16>, tensor<512x128xf16> -> tensor<128x128xf32>
    scf.yield %s : tensor<128x128xf32>
  }
  tile.block_store %r, %o shape(%m, %m) strides(%m, %one) at(%c0, %c0) check [0, 1] : tensor<128x128xf32>, !tile.ptr<f32>
  return
}

// Values of a role do not leave it, so a function that returns the sum keeps its loop in one piece.
// CHECK-LABEL: func.func @returned
// CHECK-NOT: warp_specialize
// CHECK: tgpu.wgmma
// CHECK: return %{{.*}} : tensor<64x64xf32>
// WHY: Function=returned | {{.*}}the function returns values
func.func @returned(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
    %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %m: i64 {tile.multiple_of = 16 : i32}, %n: i32) -> tensor<64x64xf32>
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.block_load %x shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %b = tile.block_load %y shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// mma.sync widens 8-bit floats there and sums with all bits, so what a kernel adds is the product's own sum.
// CHECK-LABEL: func.func @widened
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<16x8xf32>
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK-NOT: arith.addf
// OLDER-LABEL: func.func @widened
// OLDER: arith.addf
func.func @widened(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x8xf8E4M3FN>, %sum: tensor<16x8xf32>) -> tensor<16x8xf32>
    attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<16x8xf32>
  %p = tile.dot %a, %b, %zero : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN> -> tensor<16x8xf32>
  %r = arith.addf %sum, %p : tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
