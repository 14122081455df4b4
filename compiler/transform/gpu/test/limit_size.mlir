// RUN: tandem-opt --split-input-file --limit-size=most=8 --verify-diagnostics %s | FileCheck %s
// A kernel with too many operations fails at the line that most of them come from.

// CHECK-LABEL: func.func @fits
func.func @fits(%x: !tile.ptr<i32>, %n: i32) attributes {tile.num_warps = 4 : i32} {
  tile.store %x, %n : !tile.ptr<i32>, i32
  return
}

// -----

func.func @long(%x: !tile.ptr<i32>, %n: i32) attributes {tile.num_warps = 4 : i32} {
  %a = arith.addi %n, %n : i32
  %b = arith.addi %a, %n : i32
  // expected-error @+1 {{it has 9 operations after unrolling and inlining, of which at most 8 are compiled, and 3 come from this line}}
  tile.store %x, %a : !tile.ptr<i32>, i32 tile.store %x, %b : !tile.ptr<i32>, i32 tile.store %x, %n : !tile.ptr<i32>, i32
  %c = arith.addi %b, %n : i32
  tile.store %x, %c : !tile.ptr<i32>, i32
  return
}

// -----

// A thread of 128 may hold 4096 elements of a tile.
func.func @just_held(%x: !tile.ptr<i32>) attributes {tile.num_warps = 4 : i32} {
  %a = tile.splat %x : !tile.ptr<i32> -> tensor<524288x!tile.ptr<i32>>
  tile.load %a : tensor<524288x!tile.ptr<i32>> -> tensor<524288xi32>
  return
}

// -----

func.func @not_held(%x: !tile.ptr<i32>) attributes {tile.num_warps = 4 : i32} {
  // expected-error @+1 {{a tile of 1048576 elements is too large for 4 warps on a GPU: a thread would hold 8192 of them, of which at most 4096 are compiled}}
  %a = tile.splat %x : !tile.ptr<i32> -> tensor<1048576x!tile.ptr<i32>>
  return
}
