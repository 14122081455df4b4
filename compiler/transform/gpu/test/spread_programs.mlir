// RUN: tandem-opt --spread-programs %s --split-input-file --verify-diagnostics | FileCheck %s

// Each tile is a program's, and so is the number that the loop carries beside the tile's.
// CHECK-LABEL: func.func @tiles
// CHECK-NOT:   scf.for
// CHECK:       %[[ID:.*]] = tile.program_id 0
// CHECK:       tile.addptr %{{.*}}, %[[ID]]
// CHECK:       tile.store
// CHECK:       tile.store
// CHECK-NOT:   dist.spread
func.func @tiles(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32, %v: f32) {
  %d = dist.spread %x : !tile.ptr<f32>
  %id = tile.program_id 0
  %all = tile.num_programs 0
  %before = arith.subi %id, %all : i32
  %last = scf.for %i = %id to %n step %all iter_args(%stored = %before) -> (i32) : i32 {
    %p = tile.addptr %d, %i : !tile.ptr<f32>, i32
    tile.store %p, %v : !tile.ptr<f32>, f32
    %now = arith.addi %stored, %all : i32
    %q = tile.addptr %y, %now : !tile.ptr<f32>, i32
    tile.store %q, %v : !tile.ptr<f32>, f32
    scf.yield %now : i32
  }
  return
}

// -----

// The number of tiles, if all programs of the launch deal them out.
// CHECK-LABEL: func.func @counted
// CHECK-SAME:  %{{.*}}: !tile.ptr<f32>, %[[COUNT:arg1]]: !tile.ptr<i64>, %[[N:arg2]]: i32
// CHECK-DAG:   %[[ALL:.*]] = tile.num_programs 0
// CHECK-DAG:   %[[STEP:.*]] = arith.cmpi eq, %[[ALL]], %{{.*}}
// CHECK:       tile.num_programs 1
// CHECK:       arith.andi
// CHECK:       tile.num_programs 2
// CHECK:       %[[ARE:.*]] = arith.andi
// CHECK:       %[[MOST:.*]] = arith.maxsi %[[N]]
// CHECK:       %[[TILES:.*]] = arith.select %[[ARE]], %[[MOST]], %{{.*}}
// CHECK:       %[[WIDE:.*]] = arith.extsi %[[TILES]]
// CHECK:       tile.store %[[COUNT]], %[[WIDE]]
// CHECK-NOT:   tile.store
func.func @counted(%x: !tile.ptr<f32>, %count: !tile.ptr<i64>, %n: i32, %v: f32) {
  %d = dist.spread %x counted %count : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %step = arith.constant 132 : i32
  scf.for %i = %id to %n step %step : i32 {
    %p = tile.addptr %d, %i : !tile.ptr<f32>, i32
    tile.store %p, %v : !tile.ptr<f32>, f32
  }
  return
}

// -----

// A program that knows its number otherwise keeps its tiles.
// CHECK-LABEL: func.func @knows
// CHECK-SAME:  %{{.*}}: !tile.ptr<f32>, %[[COUNT:arg1]]: !tile.ptr<i64>
// CHECK:       %[[NONE:.*]] = arith.constant 0 : i64
// CHECK:       tile.store %[[COUNT]], %[[NONE]]
func.func @knows(%x: !tile.ptr<f32>, %count: !tile.ptr<i64>, %n: i32, %v: f32) {
  %d = dist.spread %x counted %count : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %all = tile.num_programs 0
  scf.for %i = %id to %n step %all : i32 {
    %place = arith.addi %i, %id : i32
    %p = tile.addptr %d, %place : !tile.ptr<f32>, i32
    tile.store %p, %v : !tile.ptr<f32>, f32
  }
  return
}

// -----

// Programs that may wait for one another stay those of the launch, which run at once.
// CHECK-LABEL: func.func @waits
// CHECK-SAME:  %{{.*}}: !tile.ptr<f32>, %[[COUNT:arg1]]: !tile.ptr<i64>
// CHECK:       %[[NONE:.*]] = arith.constant 0 : i64
// CHECK:       tile.store %[[COUNT]], %[[NONE]]
func.func @waits(%x: !tile.ptr<f32>, %count: !tile.ptr<i64>, %n: i32, %lock: !tile.ptr<i32>, %v: f32) {
  %d = dist.spread %x counted %count : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %all = tile.num_programs 0
  %zero = arith.constant 0 : i32
  scf.for %i = %id to %n step %all : i32 {
    %old = tile.atomic_cas acq_rel gpu %lock, %zero, %id : !tile.ptr<i32>, i32
    %place = arith.addi %i, %old : i32
    %p = tile.addptr %d, %place : !tile.ptr<f32>, i32
    tile.store %p, %v : !tile.ptr<f32>, f32
  }
  return
}

// -----

func.func @none(%x: !tile.ptr<f32>, %v: f32) {
  // expected-error @+1 {{no loop from the program's number on deals out all that this kernel does}}
  %d = dist.spread %x : !tile.ptr<f32>
  tile.store %d, %v : !tile.ptr<f32>, f32
  return
}
