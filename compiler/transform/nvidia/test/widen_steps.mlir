// RUN: tandem-opt --widen-steps %s | FileCheck %s
// Two steps are taken at once where the rows of one are half a line of the cache.

// CHECK-LABEL: func.func @masked
// CHECK-SAME: tile.num_stages = 3
// CHECK: scf.for {{.*}} step %c64_i32
// CHECK: tile.block_load {{.*}} -> tensor<128x64xbf16>
// CHECK: tile.block_load {{.*}} -> tensor<64x128xbf16>
// CHECK: tile.dot {{.*}} : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
func.func @masked(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %m: i64, %k: i32, %at: i32) -> tensor<128x128xf32>
    attributes {tile.num_warps = 4 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %one = arith.constant 1 : i64
  %least = arith.constant 16 : i64
  %outside = arith.constant -2147483648 : i32
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %wide = arith.extsi %k : i32 to i64
  %some = arith.cmpi sgt, %k, %c0 : i32
  %size = arith.maxsi %wide, %least : i64
  %r = scf.for %i = %c0 to %k step %step iter_args(%acc = %zeros) -> (tensor<128x128xf32>) : i32 {
    %from = arith.select %some, %i, %outside : i32
    %x = tile.block_load %a shape(%m, %size) strides(%wide, %one) at(%at, %from) check [0, 1] : !tile.ptr<bf16> -> tensor<128x32xbf16>
    %y = tile.block_load %b shape(%size, %m) strides(%m, %one) at(%from, %at) check [0, 1] : !tile.ptr<bf16> -> tensor<32x128xbf16>
    %sum = tile.dot %x, %y, %acc : tensor<128x32xbf16>, tensor<32x128xbf16> -> tensor<128x128xf32>
    scf.yield %sum : tensor<128x128xf32>
  }
  return %r : tensor<128x128xf32>
}

// Steps are counted, and an operand is transposed.
// CHECK-LABEL: func.func @counted
// CHECK: scf.for {{.*}} step %c2_i32
// CHECK: tile.block_load {{.*}} -> tensor<128x64xbf16>
// CHECK: tile.block_load {{.*}} -> tensor<128x64xbf16>
// CHECK: tile.permute {{.*}} -> tensor<64x128xbf16>
func.func @counted(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %m: i64, %k: i32, %at: i32) -> tensor<128x128xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %each = arith.constant 32 : i32
  %less = arith.constant 31 : i32
  %one = arith.constant 1 : i64
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %size = arith.extsi %k : i32 to i64
  %more = arith.addi %k, %less : i32
  %steps = arith.divsi %more, %each : i32
  %r = scf.for %i = %c0 to %steps step %c1 iter_args(%acc = %zeros) -> (tensor<128x128xf32>) : i32 {
    %from = arith.muli %i, %each : i32
    %x = tile.block_load %a shape(%m, %size) strides(%size, %one) at(%at, %from) check [0, 1] : !tile.ptr<bf16> -> tensor<128x32xbf16>
    %y = tile.block_load %b shape(%m, %size) strides(%size, %one) at(%at, %from) check [0, 1] : !tile.ptr<bf16> -> tensor<128x32xbf16>
    %t = tile.permute %y [1, 0] : tensor<128x32xbf16> -> tensor<32x128xbf16>
    %sum = tile.dot %x, %t, %acc : tensor<128x32xbf16>, tensor<32x128xbf16> -> tensor<128x128xf32>
    scf.yield %sum : tensor<128x128xf32>
  }
  return %r : tensor<128x128xf32>
}

// The loop ends before the tensor does, so a step more is not zero.
// CHECK-LABEL: func.func @other_end
// CHECK: tensor<128x32xbf16>, tensor<32x128xbf16>
func.func @other_end(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %m: i64, %k: i32, %at: i32, %end: i32) -> tensor<128x128xf32>
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %one = arith.constant 1 : i64
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %size = arith.extsi %k : i32 to i64
  %r = scf.for %i = %c0 to %end step %step iter_args(%acc = %zeros) -> (tensor<128x128xf32>) : i32 {
    %x = tile.block_load %a shape(%m, %size) strides(%size, %one) at(%at, %i) check [0, 1] : !tile.ptr<bf16> -> tensor<128x32xbf16>
    %y = tile.block_load %b shape(%size, %m) strides(%m, %one) at(%i, %at) check [0, 1] : !tile.ptr<bf16> -> tensor<32x128xbf16>
    %sum = tile.dot %x, %y, %acc : tensor<128x32xbf16>, tensor<32x128xbf16> -> tensor<128x128xf32>
    scf.yield %sum : tensor<128x128xf32>
  }
  return %r : tensor<128x128xf32>
}

// Two blocks would no longer share a multiprocessor.
// CHECK-LABEL: func.func @large
// CHECK-SAME: tile.num_stages = 4
// CHECK: tensor<256x32xbf16>, tensor<32x64xbf16>
func.func @large(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %m: i64, %k: i32, %at: i32) -> tensor<256x64xf32>
    attributes {tile.num_warps = 8 : i32, tile.num_stages = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %one = arith.constant 1 : i64
  %zeros = arith.constant dense<0.0> : tensor<256x64xf32>
  %size = arith.extsi %k : i32 to i64
  %r = scf.for %i = %c0 to %k step %step iter_args(%acc = %zeros) -> (tensor<256x64xf32>) : i32 {
    %x = tile.block_load %a shape(%m, %size) strides(%size, %one) at(%at, %i) check [0, 1] : !tile.ptr<bf16> -> tensor<256x32xbf16>
    %y = tile.block_load %b shape(%size, %m) strides(%m, %one) at(%i, %at) check [0, 1] : !tile.ptr<bf16> -> tensor<32x64xbf16>
    %sum = tile.dot %x, %y, %acc : tensor<256x32xbf16>, tensor<32x64xbf16> -> tensor<256x64xf32>
    scf.yield %sum : tensor<256x64xf32>
  }
  return %r : tensor<256x64xf32>
}

// This loop stays as it is, for its second result counts the iterations.
// CHECK-LABEL: func.func @counts
// CHECK: tensor<128x32xbf16>, tensor<32x128xbf16>
func.func @counts(%a: !tile.ptr<bf16>, %b: !tile.ptr<bf16>, %m: i64, %k: i32, %at: i32) -> (tensor<128x128xf32>, i32)
    attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %step = arith.constant 32 : i32
  %one = arith.constant 1 : i64
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %size = arith.extsi %k : i32 to i64
  %r:2 = scf.for %i = %c0 to %k step %step iter_args(%acc = %zeros, %n = %c0) -> (tensor<128x128xf32>, i32) : i32 {
    %x = tile.block_load %a shape(%m, %size) strides(%size, %one) at(%at, %i) check [0, 1] : !tile.ptr<bf16> -> tensor<128x32xbf16>
    %y = tile.block_load %b shape(%size, %m) strides(%m, %one) at(%i, %at) check [0, 1] : !tile.ptr<bf16> -> tensor<32x128xbf16>
    %sum = tile.dot %x, %y, %acc : tensor<128x32xbf16>, tensor<32x128xbf16> -> tensor<128x128xf32>
    %more = arith.addi %n, %step : i32
    scf.yield %sum, %more : tensor<128x128xf32>, i32
  }
  return %r#0, %r#1 : tensor<128x128xf32>, i32
}
