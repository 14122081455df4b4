// A product's operand whose addresses are rows of one stride, from a position that a loop moves, is a block of a matrix.
// RUN: tandem-opt --recognise-blocks=target=sm_90a %s | FileCheck %s
// RUN: tandem-opt '--recognise-blocks=target=sm_90a producer=false' %s | FileCheck %s --check-prefix=THREADS

// THREADS-LABEL: func.func @product
// THREADS-NOT: tile.block_load
// THREADS: tile.load
// CHECK-LABEL: func.func @product
// CHECK: scf.for %[[K:[^ ]*]] =
// CHECK: %[[STRIDE:.*]] = arith.extsi %arg2
// CHECK: %[[X:.*]] = tile.block_load %arg0 shape({{.*}}) strides(%[[STRIDE]], %{{.*}}) at(%{{.*}}, %[[K]])
// CHECK-NOT: tile.load
// CHECK: tile.dot %[[X]]
func.func @product(%a: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %b: tensor<64x64xf16>,
    %stride: i32 {tile.multiple_of = 16 : i32}, %n: i32, %c: tensor<64x64xf32>)
    -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %i = tile.make_range 0 to 64 : tensor<64xi32>
  %rows = tile.expand_dims %i at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tile.expand_dims %i at 0 : tensor<64xi32> -> tensor<1x64xi32>
  %s = tile.splat %stride : i32 -> tensor<64x1xi32>
  %down = arith.muli %rows, %s : tensor<64x1xi32>
  %wide = tile.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
  %across = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %wide, %across : tensor<64x64xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %p = tile.addptr %as, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%sum = %c) -> (tensor<64x64xf32>) : i32 {
    %ks = tile.splat %k : i32 -> tensor<64x64xi32>
    %q = tile.addptr %p, %ks : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %q : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %t = tile.dot %x, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %t : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// Rows from a table stay with their addresses.
// CHECK-LABEL: func.func @gathered
// CHECK-NOT: tile.block_load
// CHECK: tile.load {{.*}} -> tensor<64x64xf16>
func.func @gathered(%a: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %b: tensor<64x64xf16>,
    %table: !tile.ptr<i32>, %n: i32, %c: tensor<64x64xf32>)
    -> tensor<64x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %i = tile.make_range 0 to 64 : tensor<64xi32>
  %rows = tile.expand_dims %i at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tile.expand_dims %i at 0 : tensor<64xi32> -> tensor<1x64xi32>
  %ts = tile.splat %table : !tile.ptr<i32> -> tensor<64x1x!tile.ptr<i32>>
  %tp = tile.addptr %ts, %rows : tensor<64x1x!tile.ptr<i32>>, tensor<64x1xi32>
  %down = tile.load %tp : tensor<64x1x!tile.ptr<i32>> -> tensor<64x1xi32>
  %wide = tile.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
  %across = tile.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %wide, %across : tensor<64x64xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %p = tile.addptr %as, %at : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%sum = %c) -> (tensor<64x64xf32>) : i32 {
    %ks = tile.splat %k : i32 -> tensor<64x64xi32>
    %q = tile.addptr %p, %ks : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %x = tile.load %q : tensor<64x64x!tile.ptr<f16>> -> tensor<64x64xf16>
    %t = tile.dot %x, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %t : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// Where the sums of a loop of four warps, the product that is chained to them and its 16-bit form take what a producer
// would keep, the threads copy by themselves: the load stays with its addresses.
// CHECK-LABEL: func.func @many_sums
// CHECK-NOT: tile.block_load
// CHECK: tile.load {{.*}} -> tensor<64x32xf16>
// CHECK-NOT: tile.block_load
func.func @many_sums(%a: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %left: tensor<128x64xf16>,
    %stride: i32 {tile.multiple_of = 16 : i32}, %n: i32, %none: tensor<128x32xf32>, %zero: tensor<128x64xf32>)
    -> (tensor<128x64xf32>, tensor<128x64xf32>) attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %i = tile.make_range 0 to 64 : tensor<64xi32>
  %j = tile.make_range 0 to 32 : tensor<32xi32>
  %rows = tile.expand_dims %i at 1 : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tile.expand_dims %j at 0 : tensor<32xi32> -> tensor<1x32xi32>
  %s = tile.splat %stride : i32 -> tensor<64x1xi32>
  %down = arith.muli %rows, %s : tensor<64x1xi32>
  %wide = tile.broadcast %down : tensor<64x1xi32> -> tensor<64x32xi32>
  %across = tile.broadcast %columns : tensor<1x32xi32> -> tensor<64x32xi32>
  %at = arith.addi %wide, %across : tensor<64x32xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<64x32x!tile.ptr<f16>>
  %p = tile.addptr %as, %at : tensor<64x32x!tile.ptr<f16>>, tensor<64x32xi32>
  %r:2 = scf.for %k = %c0 to %n step %c32 iter_args(%sum = %zero, %other = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) : i32 {
    %ks = tile.splat %k : i32 -> tensor<64x32xi32>
    %q = tile.addptr %p, %ks : tensor<64x32x!tile.ptr<f16>>, tensor<64x32xi32>
    %x = tile.load %q : tensor<64x32x!tile.ptr<f16>> -> tensor<64x32xf16>
    %y = tile.dot %left, %x, %none : tensor<128x64xf16>, tensor<64x32xf16> -> tensor<128x32xf32>
    %h = arith.truncf %y : tensor<128x32xf32> to tensor<128x32xf16>
    %t = tile.permute %x [1, 0] : tensor<64x32xf16> -> tensor<32x64xf16>
    %u = tile.dot %h, %t, %sum : tensor<128x32xf16>, tensor<32x64xf16> -> tensor<128x64xf32>
    %v = tile.dot %h, %t, %other : tensor<128x32xf16>, tensor<32x64xf16> -> tensor<128x64xf32>
    scf.yield %u, %v : tensor<128x64xf32>, tensor<128x64xf32>
  }
  return %r#0, %r#1 : tensor<128x64xf32>, tensor<128x64xf32>
}
