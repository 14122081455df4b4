// RUN: tandem-opt --deal-programs %s --split-input-file --verify-diagnostics | FileCheck %s

// Programs of the launch go through those of the text; what is the same for all is computed once.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:  %[[X:arg0]]: !tile.ptr<f32>, %[[COUNT:arg1]]: i32
// CHECK-DAG:   %[[FIRST:.*]] = tile.program_id 0
// CHECK-DAG:   %[[STEP:.*]] = tile.num_programs 0
// CHECK-DAG:   %[[TWICE:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK:       scf.for %[[ID:.*]] = %[[FIRST]] to %[[COUNT]] step %[[STEP]]
// CHECK:         arith.addi %[[ID]], %[[TWICE]]
// CHECK:         tile.store
// CHECK-NOT:   dist.dealt
func.func @rows(%x: !tile.ptr<f32>, %count: i32, %v: f32, %n: i32) {
  %one = arith.constant 1 : i32
  %d = dist.dealt %x among %count, %one, %one : !tile.ptr<f32>
  %id = tile.program_id 0
  %all = tile.num_programs 0
  %twice = arith.muli %n, %all : i32
  %place = arith.addi %id, %twice : i32
  %p = tile.addptr %d, %place : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

// A number is one along each axis.
// CHECK-LABEL: func.func @axes
// CHECK-SAME:  %[[X:arg0]]: !tile.ptr<f32>, %[[WIDTH:arg1]]: i32, %[[HEIGHT:arg2]]: i32
// CHECK:       %[[ALL:.*]] = arith.muli %[[WIDTH]], %[[HEIGHT]]
// CHECK:       scf.for %[[ID:.*]] = %{{.*}} to %[[ALL]]
// CHECK-DAG:     %[[COLUMN:.*]] = arith.remsi %[[ID]], %[[WIDTH]]
// CHECK-DAG:     %[[ROW:.*]] = arith.divsi %[[ID]], %[[WIDTH]]
// CHECK:         arith.muli %[[ROW]]
// CHECK:         arith.addi %{{.*}}, %[[COLUMN]]
func.func @axes(%x: !tile.ptr<f32>, %width: i32, %height: i32, %v: f32, %pitch: i32) {
  %one = arith.constant 1 : i32
  %d = dist.dealt %x among %width, %height, %one : !tile.ptr<f32>
  %column = tile.program_id 0
  %row = tile.program_id 1
  %first = arith.muli %row, %pitch : i32
  %place = arith.addi %first, %column : i32
  %p = tile.addptr %d, %place : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

func.func @computed(%x: !tile.ptr<f32>, %n: i32, %v: f32) {
  %one = arith.constant 1 : i32
  %count = arith.addi %n, %one : i32
  // expected-error @+1 {{the numbers of programs are no arguments of the kernel}}
  %d = dist.dealt %x among %count, %one, %one : !tile.ptr<f32>
  tile.store %d, %v : !tile.ptr<f32>, f32
  return
}
