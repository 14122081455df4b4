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
