// An operand from before a loop that every warp holds whole is kept in shared memory; one that warps share stays.
// RUN: tandem-opt --keep-operands=target=sm_90a %s | FileCheck %s
// RUN: tandem-opt --keep-operands=target=sm_90a --remarks-filter='.*' -o /dev/null %s 2>&1 | FileCheck %s --check-prefix=SAYS
// SAYS-COUNT-1: Function=queries | Remark="left operand kept in shared memory for the loop, not in 64 registers of each thread"
// SAYS: Function=wide | Remark="left operand kept in shared memory for the loop, not in 128 registers of each thread"

// CHECK-LABEL: func.func @queries
// CHECK: %[[Q:.*]] = tgpu.alloc 1 x !tile.smem<16x256xbf16> swizzle 128
// CHECK: tgpu.local_store %arg0, %[[Q]]
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[READ:.*]] = tgpu.local_load %[[Q]] : !tile.smem<16x256xbf16> -> tensor<16x256xbf16>
// CHECK: tile.dot %[[READ]], %arg1
func.func @queries(%q: tensor<16x256xbf16>, %k: tensor<256x32xbf16>, %none: tensor<16x32xf32>, %n: i32, %c: i1) -> tensor<16x32xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<16x32xf32>) : i32 {
    %s = scf.if %c -> (tensor<16x32xf32>) {
      %t = tile.dot %q, %k, %sum : tensor<16x256xbf16>, tensor<256x32xbf16> -> tensor<16x32xf32>
      scf.yield %t : tensor<16x32xf32>
    } else {
      scf.yield %sum : tensor<16x32xf32>
    }
    scf.yield %s : tensor<16x32xf32>
  }
  return %r : tensor<16x32xf32>
}

// Outside of a branch 64 registers of a thread, filled once, cost less than reads in every iteration; 128 do not.
// CHECK-LABEL: func.func @once
// CHECK-NOT: tgpu.alloc
// CHECK-LABEL: func.func @wide
// CHECK: tgpu.local_store
// CHECK: scf.for
// CHECK-NEXT: tgpu.local_load
func.func @once(%q: tensor<16x256xbf16>, %k: tensor<256x32xbf16>, %none: tensor<16x32xf32>, %n: i32) -> tensor<16x32xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<16x32xf32>) : i32 {
    %t = tile.dot %q, %k, %sum : tensor<16x256xbf16>, tensor<256x32xbf16> -> tensor<16x32xf32>
    scf.yield %t : tensor<16x32xf32>
  }
  return %r : tensor<16x32xf32>
}
func.func @wide(%q: tensor<16x512xbf16>, %k: tensor<512x32xbf16>, %none: tensor<16x32xf32>, %n: i32) -> tensor<16x32xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<16x32xf32>) : i32 {
    %t = tile.dot %q, %k, %sum : tensor<16x512xbf16>, tensor<512x32xbf16> -> tensor<16x32xf32>
    scf.yield %t : tensor<16x32xf32>
  }
  return %r : tensor<16x32xf32>
}

// 64 KB are more than a quarter of the shared memory.
// CHECK-LABEL: func.func @large
// CHECK-NOT: tgpu.alloc
func.func @large(%q: tensor<16x2048xbf16>, %k: tensor<2048x32xbf16>, %none: tensor<16x32xf32>, %n: i32) -> tensor<16x32xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<16x32xf32>) : i32 {
    %t = tile.dot %q, %k, %sum : tensor<16x2048xbf16>, tensor<2048x32xbf16> -> tensor<16x32xf32>
    scf.yield %t : tensor<16x32xf32>
  }
  return %r : tensor<16x32xf32>
}

// Four warps share 32 x 32 elements, and a warp alone holds no copy of another one's.
// CHECK-LABEL: func.func @few
// CHECK-NOT: tgpu.alloc
// CHECK-LABEL: func.func @alone
// CHECK-NOT: tgpu.alloc
func.func @few(%q: tensor<32x32xbf16>, %k: tensor<32x32xbf16>, %none: tensor<32x32xf32>, %n: i32) -> tensor<32x32xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<32x32xf32>) : i32 {
    %t = tile.dot %q, %k, %sum : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
    scf.yield %t : tensor<32x32xf32>
  }
  return %r : tensor<32x32xf32>
}
func.func @alone(%q: tensor<16x256xbf16>, %k: tensor<256x8xbf16>, %none: tensor<16x8xf32>, %n: i32) -> tensor<16x8xf32>
    attributes {tile.num_warps = 1 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<16x8xf32>) : i32 {
    %t = tile.dot %q, %k, %sum : tensor<16x256xbf16>, tensor<256x8xbf16> -> tensor<16x8xf32>
    scf.yield %t : tensor<16x8xf32>
  }
  return %r : tensor<16x8xf32>
}

// 64 registers of queries, which no two warps share, do not fit beside 128 of sums and 64 of scores. Two loops read one buffer.
// CHECK-LABEL: func.func @crowded
// CHECK: %[[Q:.*]] = tgpu.alloc 1 x !tile.smem<128x64xbf16> swizzle 128
// CHECK-NOT: tgpu.alloc
// CHECK: tgpu.local_store %arg0, %[[Q]]
// CHECK: scf.for
// CHECK: tgpu.local_load %[[Q]]
// CHECK-NOT: tgpu.local_store
// CHECK: scf.for
// CHECK: tgpu.local_load %[[Q]]
func.func @crowded(%q: tensor<128x64xbf16>, %k: tensor<64x32xbf16>, %v: tensor<32x64xbf16>, %scores: tensor<128x32xf32>,
                   %none: tensor<128x64xf32>, %n: i32) -> tensor<128x64xf32> attributes {tile.num_warps = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (tensor<128x64xf32>) : i32 {
    %s = tile.dot %q, %k, %scores : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>
    %p = tile.fp_to_fp %s : tensor<128x32xf32> -> tensor<128x32xbf16>
    %t = tile.dot %p, %v, %sum : tensor<128x32xbf16>, tensor<32x64xbf16> -> tensor<128x64xf32>
    scf.yield %t : tensor<128x64xf32>
  }
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %r) -> (tensor<128x64xf32>) : i32 {
    %s = tile.dot %q, %k, %scores : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>
    %p = tile.fp_to_fp %s : tensor<128x32xf32> -> tensor<128x32xbf16>
    %t = tile.dot %p, %v, %sum : tensor<128x32xbf16>, tensor<32x64xbf16> -> tensor<128x64xf32>
    scf.yield %t : tensor<128x64xf32>
  }
  return %z : tensor<128x64xf32>
}
