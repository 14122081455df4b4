// RUN: tandem-opt --longest-first %s | FileCheck %s
// A loop that is longer in later programs; one of the same length in each.

// CHECK: func.func @grows({{.*}} attributes {tgpu.longest_first = 1 : i32}
func.func @grows(%n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %id = tile.program_id 1
  %end = arith.muli %id, %one : i32
  scf.for %i = %zero to %end step %one : i32 {
  }
  return
}

// CHECK: func.func @same
// CHECK-NOT: longest_first
func.func @same(%n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
  }
  return
}
