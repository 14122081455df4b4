// RUN: tandem-opt --divide-programs %s --split-input-file --verify-diagnostics | FileCheck %s

// Two programs of the launch are one of the author's; each has the half of the columns that its remainder says.
// CHECK-LABEL: func.func @columns
// CHECK-DAG:   %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-DAG:   %[[ID:.*]] = tile.program_id 0
// CHECK-DAG:   %[[PROGRAM:.*]] = arith.divsi %[[ID]], %[[TWO]]
// CHECK-DAG:   %[[PART:.*]] = arith.remsi %[[ID]], %[[TWO]]
// CHECK-DAG:   %[[COUNT:.*]] = tile.num_programs 0
// CHECK-DAG:   arith.divsi %[[COUNT]], %[[TWO]]
// CHECK-DAG:   arith.muli %[[PART]], %{{.*}}
// CHECK-NOT:   dist.divided
// CHECK-NOT:   tgpu.blocks
// CHECK:       tile.store {{.*}} tensor<64xf32>
func.func @columns(%x: !tile.ptr<f32>, %v: f32) {
  %d = dist.divided %x into 2 : !tile.ptr<f32>
  %id = tile.program_id 0
  %count = tile.num_programs 0
  %turned = arith.subi %count, %id : i32
  %size = arith.constant 128 : i32
  %first = arith.muli %turned, %size : i32
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %d : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %firsts = tile.splat %first : i32 -> tensor<128xi32>
  %places = arith.addi %firsts, %range : tensor<128xi32>
  %p = tile.addptr %base, %places : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %values = tile.splat %v : f32 -> tensor<128xf32>
  tile.store %p, %values : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// -----

// A loop of a half has twice as many loads under way, one that asks for nothing ahead has none.
// CHECK-LABEL: func.func @stages
// CHECK-SAME:  tile.num_stages = 6 : i32
// CHECK:       tile.num_stages = 4 : i32
// CHECK:       tile.num_stages = 1 : i32
func.func @stages(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32) attributes {tile.num_stages = 3 : i32} {
  %d = dist.divided %x into 2 : !tile.ptr<f32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 128 : i32
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %d : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %others = tile.splat %y : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %value = arith.constant dense<0.0> : tensor<128xf32>
  scf.for %i = %zero to %n step %one : i32 {
    %first = arith.muli %i, %size : i32
    %firsts = tile.splat %first : i32 -> tensor<128xi32>
    %places = arith.addi %firsts, %range : tensor<128xi32>
    %p = tile.addptr %base, %places : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  } {tile.num_stages = 2 : i32}
  scf.for %i = %zero to %n step %size : i32 {
    %firsts = tile.splat %i : i32 -> tensor<128xi32>
    %places = arith.addi %firsts, %range : tensor<128xi32>
    %p = tile.addptr %others, %places : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  } {tile.num_stages = 1 : i32}
  return
}

// -----

func.func @once(%x: !tile.ptr<f32>, %v: f32) {
  %d = dist.divided %x into 2 : !tile.ptr<f32>
  // expected-error @+1 {{`tile.store` in a program that 2 programs divide among them: each of them would do it}}
  tile.store %d, %v : !tile.ptr<f32>, f32
  return
}

// -----

// This kernel may read what another part of it writes.
func.func @in_place(%x: !tile.ptr<f32>) {
  %d = dist.divided %x into 2 : !tile.ptr<f32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %d : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %v = tile.load %p : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  // expected-error @+1 {{`tile.store` in a program that 2 programs divide among them: others may read, or write, what it writes}}
  tile.store %p, %v : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// -----

func.func @barrier(%x: !tile.ptr<f32>) {
  %d = dist.divided %x into 2 : !tile.ptr<f32>
  // expected-error @+1 {{`simt.barrier` in a program that 2 programs divide among them: it is of the whole program}}
  simt.barrier
  return
}
