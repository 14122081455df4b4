// wgmma reads its left operand from registers: a sum whose right operand the loop computes becomes its transpose.
// RUN: tandem-opt --turn-products=target=sm_90a %s | FileCheck %s

// CHECK-LABEL: func.func @weights
// CHECK-SAME: (%[[X:.*]]: tensor<128x64xf16>, %[[W:.*]]: !tile.ptr<i8>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x128xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (tensor<64x128xf32>)
// CHECK: %[[F:.*]] = arith.sitofp
// CHECK-DAG: %[[LHS:.*]] = tile.permute %[[F]] {{.*}} -> tensor<64x64xf16>
// CHECK-DAG: %[[RHS:.*]] = tile.permute %[[X]] {{.*}} -> tensor<64x128xf16>
// CHECK: tile.dot %[[LHS]], %[[RHS]], %[[ACC]] : tensor<64x64xf16>, tensor<64x128xf16> -> tensor<64x128xf32>
// CHECK: tile.permute %[[SUM]] {{.*}} -> tensor<128x64xf32>
func.func @weights(%x: tensor<128x64xf16>, %w: !tile.ptr<i8>, %m: i64, %n: i32) -> tensor<128x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) : i32 {
    %b = tile.block_load %w shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<i8> -> tensor<64x64xi8>
    %f = arith.sitofp %b : tensor<64x64xi8> to tensor<64x64xf16>
    %s = tile.dot %x, %f, %sum : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %s : tensor<128x64xf32>
  }
  return %r : tensor<128x64xf32>
}

// A right operand that is loaded stays where it is: wgmma reads it from shared memory.
// CHECK-LABEL: func.func @loaded
// CHECK: tile.dot {{.*}} : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
func.func @loaded(%x: tensor<128x64xf16>, %w: !tile.ptr<f16>, %m: i64, %n: i32) -> tensor<128x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) : i32 {
    %b = tile.block_load %w shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<64x64xf16>
    %s = tile.dot %x, %b, %sum : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %s : tensor<128x64xf32>
  }
  return %r : tensor<128x64xf32>
}

// The loop looks at the sum in the program's own order.
// CHECK-LABEL: func.func @watched
// CHECK: tile.dot {{.*}} : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
func.func @watched(%x: tensor<128x64xf16>, %w: !tile.ptr<i8>, %m: i64, %n: i32) -> tensor<128x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x64xf32>) : i32 {
    %b = tile.block_load %w shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<i8> -> tensor<64x64xi8>
    %f = arith.sitofp %b : tensor<64x64xi8> to tensor<64x64xf16>
    %s = tile.dot %x, %f, %sum : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %twice = arith.addf %s, %s : tensor<128x64xf32>
    scf.yield %twice : tensor<128x64xf32>
  }
  return %r : tensor<128x64xf32>
}
