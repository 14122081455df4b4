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

// mma.sync fills up rows, not columns: a product of four columns becomes the transpose of one of four rows.
// Products of few rows are turned, too, where weights come apart, as those that share a scale do.
// CHECK-LABEL: func.func @few_rows
// CHECK: tile.dot {{.*}} : tensor<64x64xf16>, tensor<64x16xf16> -> tensor<64x16xf32>
func.func @few_rows(%x: tensor<16x64xf16>, %w: !tile.ptr<f16>, %m: i64, %n: i32) -> tensor<16x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x64xf32>) : i32 {
    %s = tile.block_load %w shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<f16> -> tensor<2x64xf16>
    %decoded = arith.negf %s : tensor<2x64xf16>
    %e = tile.expand_dims %decoded at 1 : tensor<2x64xf16> -> tensor<2x1x64xf16>
    %b = tile.broadcast %e : tensor<2x1x64xf16> -> tensor<2x32x64xf16>
    %f = tile.reshape %b : tensor<2x32x64xf16> -> tensor<64x64xf16>
    %sum = tile.dot %x, %f, %acc : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
    scf.yield %sum : tensor<16x64xf32>
  }
  return %r : tensor<16x64xf32>
}

// A number that is loaded once for a run of elements is read where each of them is wanted.
// CHECK-LABEL: func.func @few_loaded_once
// CHECK: tile.dot {{.*}} : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
func.func @few_loaded_once(%x: tensor<16x64xf16>, %w: !tile.ptr<i16>, %m: i64, %n: i32) -> tensor<16x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x64xf32>) : i32 {
    %s = tile.block_load %w shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<i16> -> tensor<2x64xi16>
    %e = tile.expand_dims %s at 1 : tensor<2x64xi16> -> tensor<2x1x64xi16>
    %b = tile.broadcast %e : tensor<2x1x64xi16> -> tensor<2x32x64xi16>
    %f = tile.reshape %b : tensor<2x32x64xi16> -> tensor<64x64xi16>
    %v = arith.sitofp %f : tensor<64x64xi16> to tensor<64x64xf16>
    %sum = tile.dot %x, %v, %acc : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
    scf.yield %sum : tensor<16x64xf32>
  }
  return %r : tensor<16x64xf32>
}

// Converted elements stay where they are, so mma.sync takes them as its right operand.
// CHECK-LABEL: func.func @few_converted
// CHECK: tile.dot {{.*}} : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
func.func @few_converted(%x: tensor<16x64xf16>, %w: !tile.ptr<i8>, %m: i64, %n: i32) -> tensor<16x64xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16x64xf32>) : i32 {
    %b = tile.block_load %w shape(%m, %m) strides(%m, %one) at(%i, %c0) check [0, 1] : !tile.ptr<i8> -> tensor<64x64xi8>
    %f = arith.sitofp %b : tensor<64x64xi8> to tensor<64x64xf16>
    %sum = tile.dot %x, %f, %acc : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
    scf.yield %sum : tensor<16x64xf32>
  }
  return %r : tensor<16x64xf32>
}

// CHECK-LABEL: func.func @few_columns
// CHECK-SAME: (%[[X:.*]]: tensor<64x32xf16>, %[[Y:.*]]: tensor<32x4xf16>, %[[SUM:.*]]: tensor<64x4xf32>)
// CHECK-DAG: %[[ACC:.*]] = tile.permute %[[SUM]] {{.*}} -> tensor<4x64xf32>
// CHECK-DAG: %[[LHS:.*]] = tile.permute %[[Y]] {{.*}} -> tensor<4x32xf16>
// CHECK-DAG: %[[RHS:.*]] = tile.permute %[[X]] {{.*}} -> tensor<32x64xf16>
// CHECK: %[[Z:.*]] = tile.dot %[[LHS]], %[[RHS]], %[[ACC]] : tensor<4x32xf16>, tensor<32x64xf16> -> tensor<4x64xf32>
// CHECK: tile.permute %[[Z]] {{.*}} -> tensor<64x4xf32>
func.func @few_columns(%x: tensor<64x32xf16>, %y: tensor<32x4xf16>, %sum: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {tile.num_warps = 4 : i32} {
  %z = tile.dot %x, %y, %sum : tensor<64x32xf16>, tensor<32x4xf16> -> tensor<64x4xf32>
  return %z : tensor<64x4xf32>
}

// What a loop adds up is turned once, behind the loop.
// CHECK-LABEL: func.func @few_columns_of_sum
// CHECK: scf.for {{.*}} -> (tensor<2x64xf32>)
// CHECK-NEXT: tile.permute {{.*}} -> tensor<2x32xf16>
// CHECK-NEXT: tile.permute {{.*}} -> tensor<32x64xf16>
// CHECK-NEXT: tile.dot
// CHECK-NEXT: scf.yield
// CHECK: tile.permute {{.*}} -> tensor<64x2xf32>
func.func @few_columns_of_sum(%x: tensor<64x32xf16>, %y: tensor<32x2xf16>, %n: i32) -> tensor<64x2xf32> attributes {tile.num_warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x2xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x2xf32>) : i32 {
    %s = tile.dot %x, %y, %sum : tensor<64x32xf16>, tensor<32x2xf16> -> tensor<64x2xf32>
    scf.yield %s : tensor<64x2xf32>
  }
  return %r : tensor<64x2xf32>
}

// Threads multiply floats of 32 bits exactly, in either order.
// CHECK-LABEL: func.func @exact
// CHECK: tile.dot %arg0, %arg1, %arg2 {{{.*}}} : tensor<64x32xf32>, tensor<32x4xf32>
func.func @exact(%x: tensor<64x32xf32>, %y: tensor<32x4xf32>, %sum: tensor<64x4xf32>) -> tensor<64x4xf32> attributes {tile.num_warps = 4 : i32} {
  %z = tile.dot %x, %y, %sum {precision = #tile<precision ieee>} : tensor<64x32xf32>, tensor<32x4xf32> -> tensor<64x4xf32>
  return %z : tensor<64x4xf32>
}
