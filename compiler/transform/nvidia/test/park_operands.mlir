// An operand that waits beside large tiles, from its load to its product, waits in shared memory.
// RUN: tandem-opt --park-operands=target=sm_90a %s | FileCheck %s
// RUN: tandem-opt --park-operands=target=sm_90a --remarks-filter='.*' -o /dev/null %s 2>&1 | FileCheck %s --check-prefix=SAYS
// SAYS: Function=beside | Remark="operand loaded here waits in shared memory, not in 64 registers of each thread"
// SAYS: Function=widened | Remark="operand loaded here waits in shared memory, not in 32 registers of each thread"
// SAYS: Function=slot | Remark="operand read from shared memory for each use, not kept in registers until then"
// SAYS-NOT: Remark

// The large tile and the operand have 64 + 128 registers of a thread.
// CHECK-LABEL: func.func @beside
// CHECK: %[[KEPT:.*]] = tgpu.alloc 1 x !tile.smem<256x64xf16> swizzle 128
// CHECK: %[[V:.*]] = tile.load %arg0
// CHECK: %[[ROWS:.*]] = tile.reshape %[[V]] : tensor<16x16x64xf16> -> tensor<256x64xf16>
// CHECK: tgpu.local_store %[[ROWS]], %[[KEPT]]
// CHECK: tile.dot
// CHECK: %[[READ:.*]] = tgpu.local_load %[[KEPT]] : !tile.smem<256x64xf16> -> tensor<256x64xf16>
// CHECK: %[[TILE:.*]] = tile.reshape %[[READ]] : tensor<256x64xf16> -> tensor<16x16x64xf16>
// CHECK: %[[TURNED:.*]] = tile.permute %[[TILE]] [0, 2, 1]
// CHECK: tile.dot %{{.*}}, %[[TURNED]]
func.func @beside(%p: tensor<16x16x64x!tile.ptr<f16>>, %out: tensor<16x16x64x!tile.ptr<f32>>, %a: tensor<16x16x16xf16>,
                  %b: tensor<16x16x64xf16>, %c: tensor<16x16x64xf16>, %none: tensor<16x16x64xf32>, %less: tensor<16x16x16xf32>)
    -> tensor<16x16x16xf32> attributes {tile.num_warps = 4 : i32} {
  %v = tile.load %p : tensor<16x16x64x!tile.ptr<f16>> -> tensor<16x16x64xf16>
  %large = tile.dot %a, %b, %none : tensor<16x16x16xf16>, tensor<16x16x64xf16> -> tensor<16x16x64xf32>
  %twice = arith.addf %large, %large : tensor<16x16x64xf32>
  tile.store %out, %twice : tensor<16x16x64x!tile.ptr<f32>>, tensor<16x16x64xf32>
  %turned = tile.permute %v [0, 2, 1] : tensor<16x16x64xf16> -> tensor<16x64x16xf16>
  %r = tile.dot %c, %turned, %less : tensor<16x16x64xf16>, tensor<16x64x16xf16> -> tensor<16x16x16xf32>
  return %r : tensor<16x16x16xf32>
}

// Beside a tile of 32 registers it stays; so does one that other than products read, and one whose product comes first.
// CHECK-NOT: tgpu.alloc
func.func @alone(%p: tensor<16x16x64x!tile.ptr<f16>>, %out: tensor<16x16x16x!tile.ptr<f32>>, %a: tensor<16x16x16xf16>,
                 %q: tensor<16x16x64x!tile.ptr<f16>>, %less: tensor<16x16x16xf32>) -> tensor<16x16x16xf32> attributes {tile.num_warps = 4 : i32} {
  %v = tile.load %p : tensor<16x16x64x!tile.ptr<f16>> -> tensor<16x16x64xf16>
  %small = tile.dot %a, %a, %less : tensor<16x16x16xf16>, tensor<16x16x16xf16> -> tensor<16x16x16xf32>
  tile.store %out, %small : tensor<16x16x16x!tile.ptr<f32>>, tensor<16x16x16xf32>
  %c = tile.load %q : tensor<16x16x64x!tile.ptr<f16>> -> tensor<16x16x64xf16>
  %turned = tile.permute %v [0, 2, 1] : tensor<16x16x64xf16> -> tensor<16x64x16xf16>
  %r = tile.dot %c, %turned, %less : tensor<16x16x64xf16>, tensor<16x64x16xf16> -> tensor<16x16x16xf32>
  return %r : tensor<16x16x16xf32>
}
func.func @read(%p: tensor<16x16x64x!tile.ptr<f16>>, %out: tensor<16x16x64x!tile.ptr<f32>>, %a: tensor<16x16x16xf16>,
                %b: tensor<16x16x64xf16>, %c: tensor<16x16x64xf16>, %none: tensor<16x16x64xf32>, %less: tensor<16x16x16xf32>)
    -> (tensor<16x16x16xf32>, tensor<16x16x64xf16>) attributes {tile.num_warps = 4 : i32} {
  %v = tile.load %p : tensor<16x16x64x!tile.ptr<f16>> -> tensor<16x16x64xf16>
  %large = tile.dot %a, %b, %none : tensor<16x16x16xf16>, tensor<16x16x64xf16> -> tensor<16x16x64xf32>
  tile.store %out, %large : tensor<16x16x64x!tile.ptr<f32>>, tensor<16x16x64xf32>
  %turned = tile.permute %v [0, 2, 1] : tensor<16x16x64xf16> -> tensor<16x64x16xf16>
  %r = tile.dot %c, %turned, %less : tensor<16x16x64xf16>, tensor<16x64x16xf16> -> tensor<16x16x16xf32>
  return %r, %v : tensor<16x16x16xf32>, tensor<16x16x64xf16>
}
func.func @first(%p: tensor<16x16x64x!tile.ptr<f16>>, %out: tensor<16x16x64x!tile.ptr<f32>>, %a: tensor<16x16x16xf16>,
                 %b: tensor<16x16x64xf16>, %c: tensor<16x16x64xf16>, %none: tensor<16x16x64xf32>, %less: tensor<16x16x16xf32>)
    -> tensor<16x16x16xf32> attributes {tile.num_warps = 4 : i32} {
  %large = tile.dot %a, %b, %none : tensor<16x16x16xf16>, tensor<16x16x64xf16> -> tensor<16x16x64xf32>
  %v = tile.load %p : tensor<16x16x64x!tile.ptr<f16>> -> tensor<16x16x64xf16>
  %turned = tile.permute %v [0, 2, 1] : tensor<16x16x64xf16> -> tensor<16x64x16xf16>
  %r = tile.dot %c, %turned, %less : tensor<16x16x64xf16>, tensor<16x64x16xf16> -> tensor<16x16x16xf32>
  tile.store %out, %large : tensor<16x16x64x!tile.ptr<f32>>, tensor<16x16x64xf32>
  return %r : tensor<16x16x16xf32>
}

// A tile for which there is no room stays, too.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: tgpu.alloc
func.func @wide(%p: tensor<64x32x64x!tile.ptr<f16>>, %out: tensor<64x16x64x!tile.ptr<f32>>, %a: tensor<64x16x16xf16>,
                %b: tensor<64x16x64xf16>, %c: tensor<64x16x64xf16>, %none: tensor<64x16x64xf32>, %less: tensor<64x16x32xf32>)
    -> tensor<64x16x32xf32> attributes {tile.num_warps = 4 : i32} {
  %v = tile.load %p : tensor<64x32x64x!tile.ptr<f16>> -> tensor<64x32x64xf16>
  %large = tile.dot %a, %b, %none : tensor<64x16x16xf16>, tensor<64x16x64xf16> -> tensor<64x16x64xf32>
  %twice = arith.addf %large, %large : tensor<64x16x64xf32>
  tile.store %out, %twice : tensor<64x16x64x!tile.ptr<f32>>, tensor<64x16x64xf32>
  %turned = tile.permute %v [0, 2, 1] : tensor<64x32x64xf16> -> tensor<64x64x32xf16>
  %r = tile.dot %c, %turned, %less : tensor<64x16x64xf16>, tensor<64x64x32xf16> -> tensor<64x16x32xf32>
  return %r : tensor<64x16x32xf32>
}

// Threads that go different ways do not meet at a store.
// CHECK-LABEL: func.func @divergent
// CHECK-NOT: tgpu.alloc
func.func @divergent(%p: tensor<16x16x64x!tile.ptr<f16>>, %out: tensor<16x16x64x!tile.ptr<f32>>, %a: tensor<16x16x16xf16>,
                     %b: tensor<16x16x64xf16>, %c: tensor<16x16x64xf16>, %none: tensor<16x16x64xf32>, %less: tensor<16x16x16xf32>)
    -> tensor<16x16x16xf32> attributes {tile.num_warps = 4 : i32} {
  %thread = simt.tid 0
  %c64 = arith.constant 64 : i32
  %is = arith.cmpi slt, %thread, %c64 : i32
  %r = scf.if %is -> (tensor<16x16x16xf32>) {
    %v = tile.load %p : tensor<16x16x64x!tile.ptr<f16>> -> tensor<16x16x64xf16>
    %large = tile.dot %a, %b, %none : tensor<16x16x16xf16>, tensor<16x16x64xf16> -> tensor<16x16x64xf32>
    %twice = arith.addf %large, %large : tensor<16x16x64xf32>
    tile.store %out, %twice : tensor<16x16x64x!tile.ptr<f32>>, tensor<16x16x64xf32>
    %turned = tile.permute %v [0, 2, 1] : tensor<16x16x64xf16> -> tensor<16x64x16xf16>
    %s = tile.dot %c, %turned, %less : tensor<16x16x64xf16>, tensor<16x64x16xf16> -> tensor<16x16x16xf32>
    scf.yield %s : tensor<16x16x16xf32>
  } else {
    scf.yield %less : tensor<16x16x16xf32>
  }
  return %r : tensor<16x16x16xf32>
}

// What wgmma multiplies as fp32 waits in the 16 bits in which it was loaded, and is widened where it is multiplied.
// CHECK-LABEL: func.func @widened
// CHECK: %[[KEPT:.*]] = tgpu.alloc 1 x !tile.smem<128x64xbf16> swizzle 128
// CHECK: tgpu.local_store %{{.*}}, %[[KEPT]]
// CHECK: tgpu.wgmma
// CHECK: %[[READ:.*]] = tgpu.local_load %[[KEPT]]
// CHECK: tile.fp_to_fp %{{.*}} : tensor<128x64xbf16> -> tensor<128x64xf32>
// CHECK: tgpu.wgmma
func.func @widened(%p: tensor<128x64x!tile.ptr<bf16>>, %out: tensor<128x128x!tile.ptr<f32>>, %a: tensor<128x64xf32>,
                   %none: tensor<128x128xf32>, %less: tensor<128x64xf32>) -> tensor<128x64xf32> attributes {tile.num_warps = 4 : i32} {
  %b = tgpu.alloc 1 x !tile.smem<64x128xf32> swizzle 128
  %c = tgpu.alloc 1 x !tile.smem<64x64xf32> swizzle 128
  %v = tile.load %p : tensor<128x64x!tile.ptr<bf16>> -> tensor<128x64xbf16>
  %w = tile.fp_to_fp %v : tensor<128x64xbf16> -> tensor<128x64xf32>
  %started = tgpu.wgmma %a, %b, %none : tensor<128x64xf32>, !tile.smem<64x128xf32> -> tensor<128x128xf32>
  %large = tgpu.wgmma_wait %started pending 0 : tensor<128x128xf32>
  tile.store %out, %large : tensor<128x128x!tile.ptr<f32>>, tensor<128x128xf32>
  %s = tgpu.wgmma %w, %c, %less : tensor<128x64xf32>, !tile.smem<64x64xf32> -> tensor<128x64xf32>
  %r = tgpu.wgmma_wait %s pending 0 : tensor<128x64xf32>
  return %r : tensor<128x64xf32>
}

// What lies in a slot is read when it is multiplied, again behind the large tile; not where the slot has been filled again.
// CHECK-LABEL: func.func @slot
// CHECK: tgpu.await
// CHECK-NEXT: tgpu.local_load
// CHECK-NEXT: tile.fp_to_fp
// CHECK-NEXT: tgpu.wgmma
// CHECK: tile.store
// CHECK-NEXT: tgpu.local_load
// CHECK-NEXT: tile.fp_to_fp
// CHECK-NEXT: tgpu.wgmma
func.func @slot(%out: tensor<128x128x!tile.ptr<f32>>, %none: tensor<128x128xf32>, %less: tensor<128x64xf32>) -> tensor<128x64xf32>
    attributes {tile.num_warps = 4 : i32} {
  %b = tgpu.alloc 1 x !tile.smem<64x128xf32> swizzle 128
  %c = tgpu.alloc 1 x !tile.smem<64x64xf32> swizzle 128
  %slots = tgpu.alloc 2 x !tile.smem<128x64xbf16> swizzle 128
  %ring = tgpu.copy_ring 2 ahead 1
  tgpu.await %ring
  %v = tgpu.local_load %slots of %ring : !tile.smem<128x64xbf16> -> tensor<128x64xbf16>
  %w = tile.fp_to_fp %v : tensor<128x64xbf16> -> tensor<128x64xf32>
  %started = tgpu.wgmma %w, %b, %none : tensor<128x64xf32>, !tile.smem<64x128xf32> -> tensor<128x128xf32>
  %large = tgpu.wgmma_wait %started pending 0 : tensor<128x128xf32>
  tile.store %out, %large : tensor<128x128x!tile.ptr<f32>>, tensor<128x128xf32>
  %s = tgpu.wgmma %w, %c, %less : tensor<128x64xf32>, !tile.smem<64x64xf32> -> tensor<128x64xf32>
  %r = tgpu.wgmma_wait %s pending 0 : tensor<128x64xf32>
  return %r : tensor<128x64xf32>
}

// CHECK-LABEL: func.func @filled_again
// CHECK-COUNT-1: tgpu.local_load
// CHECK-NOT: tgpu.local_load
func.func @filled_again(%out: tensor<128x128x!tile.ptr<f32>>, %none: tensor<128x128xf32>, %less: tensor<128x64xf32>,
                        %p: tensor<128x64x!tile.ptr<bf16>>, %more: i1) -> tensor<128x64xf32> attributes {tile.num_warps = 4 : i32} {
  %b = tgpu.alloc 1 x !tile.smem<64x128xf32> swizzle 128
  %c = tgpu.alloc 1 x !tile.smem<64x64xf32> swizzle 128
  %slots = tgpu.alloc 1 x !tile.smem<128x64xbf16> swizzle 128
  %ring = tgpu.copy_ring 1 ahead 1
  tgpu.await %ring
  %v = tgpu.local_load %slots of %ring : !tile.smem<128x64xbf16> -> tensor<128x64xbf16>
  %w = tile.fp_to_fp %v : tensor<128x64xbf16> -> tensor<128x64xf32>
  tgpu.copy_async %p if %more into %slots of %ring {tgpu.vector = array<i32: 8, 1>} : tensor<128x64x!tile.ptr<bf16>>, !tile.smem<128x64xbf16>
  %started = tgpu.wgmma %w, %b, %none : tensor<128x64xf32>, !tile.smem<64x128xf32> -> tensor<128x128xf32>
  %large = tgpu.wgmma_wait %started pending 0 : tensor<128x128xf32>
  tile.store %out, %large : tensor<128x128x!tile.ptr<f32>>, tensor<128x128xf32>
  %s = tgpu.wgmma %w, %c, %less : tensor<128x64xf32>, !tile.smem<64x64xf32> -> tensor<128x64xf32>
  %r = tgpu.wgmma_wait %s pending 0 : tensor<128x64xf32>
  return %r : tensor<128x64xf32>
}
