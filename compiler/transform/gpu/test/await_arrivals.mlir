// RUN: tandem-opt --await-arrivals %s --split-input-file --verify-diagnostics | FileCheck %s

// Programs along the axis that decides begin at this rank's share. One wait before the loop, for all chunks that its loads touch.
// CHECK-LABEL: func.func @rows
// CHECK-DAG:   %[[ID:.*]] = tile.program_id 0
// CHECK-DAG:   %[[COUNT:.*]] = tile.num_programs 0
// CHECK-DAG:   %[[RANK:.*]] = dist.rank
// CHECK-DAG:   %[[RANKS:.*]] = dist.num_ranks
// CHECK:       %[[PART:.*]] = arith.muli %[[RANK]], %[[COUNT]]
// CHECK:       %[[SHARE:.*]] = arith.divsi %[[PART]], %[[RANKS]]
// CHECK:       %[[MOVED:.*]] = arith.addi %[[ID]], %[[SHARE]]
// CHECK:       arith.remsi %[[MOVED]], %[[COUNT]]
// CHECK:       %[[TOKEN:.*]] = scf.for
// CHECK:         %[[SEEN:.*]] = dist.wait acquire sys %{{.*}}[%{{.*}}] ge %{{.*}} {dist.stays} : !tile.ptr<i64>, i64
// CHECK:         scf.yield %[[SEEN]]
// CHECK:       %[[TIED:.*]] = dist.consume_token %{{.*}}, %[[TOKEN]]
// CHECK:       tile.splat %[[TIED]]
// CHECK:       scf.for
// CHECK-NOT:   dist.wait
// CHECK:       tile.load
func.func @rows(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %epoch: i64, %stride: i32, %k: i32, %out: !tile.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %a = dist.arriving %x by %words[%chunk x %chunks] at %epoch : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %id = tile.program_id 0
  %start = arith.muli %id, %stride : i32
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %sum = scf.for %i = %zero to %k step %step iter_args(%acc = %none) -> tensor<16xf32> : i32 {
    %at = arith.addi %start, %i : i32
    %tile = tile.splat %at : i32 -> tensor<16xi32>
    %offsets = arith.addi %tile, %range : tensor<16xi32>
    %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  %places = tile.splat %out : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  tile.store %places, %sum : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

// Slices of columns: the loop knows up to which column all is there, and waits in front of a load that reads beyond. The program begins at
// this rank's share as before.
// CHECK-LABEL: func.func @slices
// CHECK-DAG:   %[[NO_TOKEN:.*]] = arith.constant 0 : i32
// CHECK-DAG:   %[[NOTHING:.*]] = arith.constant 0 : i64
// CHECK-DAG:   tile.num_programs 0
// CHECK-NOT:   dist.wait
// CHECK:       scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[TOKEN:.*]] = %[[NO_TOKEN]], %[[THERE:.*]] = %[[NOTHING]])
// CHECK:         %[[BEYOND:.*]] = arith.cmpi sge, %{{.*}}, %[[THERE]]
// CHECK:         %[[WAITED:.*]]:2 = scf.if %[[BEYOND]]
// CHECK:           arith.divsi %{{.*}}, %[[SLICE:.*]] : i64
// CHECK:           dist.wait acquire sys %{{.*}}[%{{.*}}] ge
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %[[TOKEN]], %[[THERE]]
// CHECK:         %[[NONE:.*]] = dist.consume_token %{{.*}}, %[[WAITED]]#0
// CHECK:         arith.muli %[[NONE]]
// CHECK:         tile.load
// CHECK:         scf.yield %{{.*}}, %[[WAITED]]#0, %[[WAITED]]#1
func.func @slices(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %row: i64, %slice: i64, %stride: i32, %k: i32, %out: !tile.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %a = dist.arriving %x by %words[%chunk x %chunks] in %row, %slice at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %id = tile.program_id 0
  %start = arith.muli %id, %stride : i32
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %sum = scf.for %i = %zero to %k step %step iter_args(%acc = %none) -> tensor<16xf32> : i32 {
    %at = arith.addi %start, %i : i32
    %tile = tile.splat %at : i32 -> tensor<16xi32>
    %offsets = arith.addi %tile, %range : tensor<16xi32>
    %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  %places = tile.splat %out : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  tile.store %places, %sum : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

// Rows that a loop goes through, like the keys of attention, arrive one after the other: each iteration waits for its own, if the last wait
// was for others.
// CHECK-LABEL: func.func @keys
// CHECK-DAG:   %[[NO_TOKEN:.*]] = arith.constant 0 : i32
// CHECK-DAG:   %[[NOTHING:.*]] = arith.constant 0 : i64
// CHECK:       scf.for %{{.*}} iter_args(%{{.*}}, %[[TOKEN:.*]] = %{{.*}}, %[[FROM:.*]] = %[[NOTHING]], %[[TO:.*]] = %[[NOTHING]])
// CHECK-DAG:     arith.cmpi sge, %{{.*}}, %[[FROM]]
// CHECK-DAG:     arith.cmpi slt, %{{.*}}, %[[TO]]
// CHECK:         %[[THERE:.*]]:3 = scf.if
// CHECK-NEXT:      scf.yield %[[TOKEN]], %[[FROM]], %[[TO]]
// CHECK:         } else {
// CHECK:           arith.divsi
// CHECK:           %[[WAITED:.*]] = scf.for
// CHECK:             dist.wait acquire sys %{{.*}} ge %{{.*}} {dist.stays}
// CHECK:           scf.yield %[[WAITED]]
// CHECK:         dist.consume_token %{{.*}}, %[[THERE]]#0
// CHECK:         tile.load
// CHECK:         scf.yield %{{.*}}, %[[THERE]]#0, %[[THERE]]#1, %[[THERE]]#2
func.func @keys(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %stride: i32, %rows: i32, %out: !tile.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %a = dist.arriving %x by %words[%chunk x %chunks] at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %sum = scf.for %i = %zero to %rows step %step iter_args(%acc = %none) -> tensor<16xf32> : i32 {
    %at = arith.muli %i, %stride : i32
    %tile = tile.splat %at : i32 -> tensor<16xi32>
    %offsets = arith.addi %tile, %range : tensor<16xi32>
    %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  %places = tile.splat %out : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  tile.store %places, %sum : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

// Rows of 64 numbers, of which each iteration reads 16 more: it waits for these.
// CHECK-LABEL: func.func @keys_of_known_width
// CHECK-DAG:   %[[NO_TOKEN:.*]] = arith.constant 0 : i32
// CHECK-DAG:   %[[NOTHING:.*]] = arith.constant 0 : i64
// CHECK:       scf.for %{{.*}} iter_args(%{{.*}}, %[[TOKEN:.*]] = %{{.*}}, %[[FROM:.*]] = %[[NOTHING]], %[[TO:.*]] = %[[NOTHING]])
// CHECK-DAG:     arith.cmpi sge, %{{.*}}, %[[FROM]]
// CHECK-DAG:     arith.cmpi slt, %{{.*}}, %[[TO]]
// CHECK:         %[[THERE:.*]]:3 = scf.if
// CHECK-NEXT:      scf.yield %[[TOKEN]], %[[FROM]], %[[TO]]
// CHECK:         } else {
// CHECK:           arith.divsi
// CHECK:           %[[WAITED:.*]] = scf.for
// CHECK:             dist.wait acquire sys %{{.*}} ge %{{.*}} {dist.stays}
// CHECK:           scf.yield %[[WAITED]]
// CHECK:         dist.consume_token %{{.*}}, %[[THERE]]#0
// CHECK:         tile.load
// CHECK:         scf.yield %{{.*}}, %[[THERE]]#0, %[[THERE]]#1, %[[THERE]]#2
func.func @keys_of_known_width(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %rows: i32, %out: !tile.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %pitch = arith.constant dense<64> : tensor<16xi32>
  %a = dist.arriving %x by %words[%chunk x %chunks] at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %sum = scf.for %i = %zero to %rows step %step iter_args(%acc = %none) -> tensor<16xf32> : i32 {
    %tile = tile.splat %i : i32 -> tensor<16xi32>
    %of = arith.addi %tile, %range : tensor<16xi32>
    %offsets = arith.muli %of, %pitch : tensor<16xi32>
    %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  %places = tile.splat %out : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  tile.store %places, %sum : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

// Columns of such rows: one wait for all.
// CHECK-LABEL: func.func @columns_of_known_width
// CHECK:       %[[TOKEN:.*]] = scf.for
// CHECK:         dist.wait
// CHECK:       dist.consume_token %{{.*}}, %[[TOKEN]]
// CHECK:       scf.for %{{.*}} iter_args
// CHECK-NOT:     dist.wait
// CHECK:         tile.load
func.func @columns_of_known_width(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %out: !tile.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %width = arith.constant 64 : i32
  %pitch = arith.constant dense<64> : tensor<16xi32>
  %a = dist.arriving %x by %words[%chunk x %chunks] at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %rows = arith.muli %range, %pitch : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %sum = scf.for %i = %zero to %width step %step iter_args(%acc = %none) -> tensor<16xf32> : i32 {
    %tile = tile.splat %i : i32 -> tensor<16xi32>
    %offsets = arith.addi %tile, %rows : tensor<16xi32>
    %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
    %next = arith.addf %acc, %v : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  %places = tile.splat %out : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  tile.store %places, %sum : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

// What another load gives decides where this one reads.
func.func @gathered(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %rows: tensor<16x!tile.ptr<i32>>, %out: tensor<16x!tile.ptr<f32>>) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  // expected-note @+1 {{its places cannot be followed beyond this}}
  %offsets = tile.load %rows : tensor<16x!tile.ptr<i32>> -> tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  // expected-error @+1 {{what this load reads of arriving memory is not a box with sides affine in the program's numbers}}
  %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
  tile.store %out, %v : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

func.func @stored(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %value: f32) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  // expected-error @+1 {{only loads may use memory that arrives while the kernel runs}}
  tile.store %a, %value : !tile.ptr<f32>, f32
  return
}

// -----

func.func @branches(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %c: i1) -> !tile.ptr<f32> {
  // expected-error @+1 {{which loads read arriving memory cannot be told}}
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  return %a : !tile.ptr<f32>
}

// -----

// A program that looks at what others do keeps its number: those with lower numbers begin first.
// CHECK-LABEL: func.func @looks
// CHECK-NOT:   tile.num_programs
// CHECK:       tile.program_id 0
// CHECK-NOT:   tile.num_programs
// CHECK:       return
func.func @looks(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %out: !tile.ptr<f32>, %turn: !tile.ptr<i32>) {
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %id = tile.program_id 0
  %one = arith.constant 1 : i32
  %token = dist.wait acquire gpu %turn[%one] eq %id : !tile.ptr<i32>, i32
  %p = tile.addptr %a, %id : !tile.ptr<f32>, i32
  %v = tile.load %p : !tile.ptr<f32> -> f32
  tile.store %out, %v : !tile.ptr<f32>, f32
  return
}

// -----

// Bits of a count move a place up or down by at most the count: of 64 places from a multiple of 64 on, with one bit turned, the least is one
// less than the first and the greatest 1 more than the last.
// CHECK-LABEL: func.func @bits
// CHECK-DAG:   %[[LOW:.*]] = arith.constant -1 : i64
// CHECK-DAG:   %[[HIGH:.*]] = arith.constant 64 : i64
// CHECK:       %[[START:.*]] = arith.muli %{{.*}}, %[[HIGH]] : i64
// CHECK-DAG:   arith.addi %[[START]], %[[LOW]]
// CHECK-DAG:   arith.addi %[[START]], %[[HIGH]]
// CHECK:       scf.for
// CHECK:         dist.wait
// CHECK:       tile.load
func.func @bits(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %out: !tile.ptr<f32>) {
  %a = dist.arriving %x by %words[%chunk x %chunks] at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %id = tile.program_id 0
  %ids = tile.splat %id : i32 -> tensor<8x8xi32>
  %six = arith.constant dense<6> : tensor<8x8xi32>
  %one = arith.constant dense<1> : tensor<64xi32>
  %firsts = arith.shli %ids, %six : tensor<8x8xi32>
  %lines = tile.reshape %firsts : tensor<8x8xi32> -> tensor<64xi32>
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %places = arith.ori %lines, %range : tensor<64xi32>
  %turned = arith.xori %places, %one : tensor<64xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %base, %turned : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %to = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  tile.store %to, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// Places that are divided, as where elements are numbered through, lie between the least and the greatest quotient.
// CHECK-LABEL: func.func @rows_of_elements
// CHECK-DAG:   %[[START:.*]] = arith.muli
// CHECK-DAG:   %[[LAST:.*]] = arith.addi
// CHECK-DAG:   arith.divsi
// CHECK:       scf.for
// CHECK:         dist.wait
// CHECK:       dist.consume_token
// CHECK:       tile.load
func.func @rows_of_elements(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %n: i32, %k: i32, %out: !tile.ptr<f32>) {
  %size = arith.constant 64 : i32
  %a = dist.arriving %x by %words[%chunk x %chunks] at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %id = tile.program_id 0
  %start = arith.muli %id, %size : i32
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %first = tile.splat %start : i32 -> tensor<64xi32>
  %places = arith.addi %first, %range : tensor<64xi32>
  %ns = tile.splat %n : i32 -> tensor<64xi32>
  %ks = tile.splat %k : i32 -> tensor<64xi32>
  %rows = arith.divsi %places, %ns : tensor<64xi32>
  %columns = arith.remsi %places, %ks : tensor<64xi32>
  %row_places = arith.muli %rows, %ks : tensor<64xi32>
  %offsets = arith.addi %row_places, %columns : tensor<64xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %base, %offsets : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %to = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  tile.store %to, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// -----

// The words are known in the loop alone, so each iteration waits.
// CHECK-LABEL: func.func @named_in_a_loop
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           dist.wait
// CHECK:         scf.for
// CHECK:           tile.load
func.func @named_in_a_loop(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i32, %epoch: i64, %k: i32, %out: !tile.ptr<f32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.0 : f32
  %all = scf.for %i = %zero to %k step %one iter_args(%sum = %none) -> f32 : i32 {
    %chunk = arith.extsi %n : i32 to i64
    %a = dist.arriving %x by %words[%chunk x %chunk] at %epoch : !tile.ptr<f32>, !tile.ptr<i64>, i64
    %next = scf.for %j = %zero to %k step %one iter_args(%acc = %sum) -> f32 : i32 {
      %p = tile.addptr %a, %j : !tile.ptr<f32>, i32
      %v = tile.load %p : !tile.ptr<f32> -> f32
      %more = arith.addf %acc, %v : f32
      scf.yield %more : f32
    }
    scf.yield %next : f32
  }
  tile.store %out, %all : !tile.ptr<f32>, f32
  return
}

// -----

// Places of which a branch says one or the other lie between the least and the greatest of both.
// CHECK-LABEL: func.func @of_a_branch
// CHECK-DAG:   %[[SIZE:.*]] = arith.constant 63 : i64
// CHECK-DAG:   arith.minsi
// CHECK-DAG:   arith.maxsi
// CHECK:       scf.for
// CHECK:         dist.wait
// CHECK:       tile.load
func.func @of_a_branch(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %n: i32, %out: !tile.ptr<f32>) {
  %size = arith.constant 64 : i32
  %a = dist.arriving %x by %words[%chunk x %chunks] at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %ns = tile.splat %n : i32 -> tensor<64xi32>
  %isWide = arith.cmpi sge, %n, %size : i32
  %offsets = scf.if %isWide -> tensor<64xi32> {
    %double = arith.addi %range, %ns : tensor<64xi32>
    scf.yield %double : tensor<64xi32>
  } else {
    %rest = arith.remsi %range, %ns : tensor<64xi32>
    scf.yield %rest : tensor<64xi32>
  }
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %base, %offsets : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %to = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  tile.store %to, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// -----

// A number that a branch loads for itself is not known.
func.func @within_a_branch(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %table: !tile.ptr<i32>, %isWide: i1, %out: !tile.ptr<f32>) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.arriving %x by %words[%chunk x %chunks] at %chunk : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %range = tile.make_range 0 to 64 : tensor<64xi32>
  %offsets = scf.if %isWide -> tensor<64xi32> {
    // expected-note @+1 {{its places cannot be followed beyond this}}
    %first = tile.load %table : !tile.ptr<i32> -> i32
    %firsts = tile.splat %first : i32 -> tensor<64xi32>
    %places = arith.addi %range, %firsts : tensor<64xi32>
    scf.yield %places : tensor<64xi32>
  } else {
    scf.yield %range : tensor<64xi32>
  }
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %p = tile.addptr %base, %offsets : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  // expected-error @+1 {{what this load reads of arriving memory is not a box with sides affine in the program's numbers}}
  %v = tile.load %p : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %to = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  tile.store %to, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// -----

// Elements of as many bytes lie at the same places, whatever they are taken for.
// CHECK-LABEL: func.func @cast
// CHECK:         %[[TOKEN:.*]] = scf.for
// CHECK:           dist.wait
// CHECK:         %[[TIED:.*]] = dist.consume_token %arg0, %[[TOKEN]]
// CHECK:         %[[WORDS:.*]] = tile.bitcast %[[TIED]]
// CHECK:         tile.addptr %[[WORDS]]
func.func @cast(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %out: !tile.ptr<i32>) {
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %cast = tile.bitcast %a : !tile.ptr<f32> -> !tile.ptr<i32>
  %id = tile.program_id 0
  %p = tile.addptr %cast, %id : !tile.ptr<i32>, i32
  %v = tile.load %p : !tile.ptr<i32> -> i32
  tile.store %out, %v : !tile.ptr<i32>, i32
  return
}

// -----

func.func @cast_to_bytes(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %out: !tile.ptr<i8>) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  // expected-note @+1 {{its places cannot be followed beyond this}}
  %cast = tile.bitcast %a : !tile.ptr<f32> -> !tile.ptr<i8>
  // expected-error @+1 {{what this load reads of arriving memory is not a box with sides affine in the program's numbers}}
  %v = tile.load %cast : !tile.ptr<i8> -> i8
  tile.store %out, %v : !tile.ptr<i8>, i8
  return
}

// -----

// Branches and choices may also give where the rows begin, by what they compute themselves.
// CHECK-LABEL: func.func @one_of_two_begins
// CHECK:         dist.wait
// CHECK:         dist.consume_token
func.func @one_of_two_begins(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %k: i32, %isSecond: i1, %out: tensor<16x!tile.ptr<f32>>) {
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  %c2 = arith.constant 2 : i32
  %begin = scf.if %isSecond -> !tile.ptr<f32> {
    %half = arith.divsi %k, %c2 : i32
    %second = tile.addptr %a, %half : !tile.ptr<f32>, i32
    scf.yield %second : !tile.ptr<f32>
  } else {
    scf.yield %a : !tile.ptr<f32>
  }
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %base = tile.splat %begin : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
  tile.store %out, %v : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

func.func @one_of_two_matrices(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %isSecond: i1, %out: tensor<16x!tile.ptr<f32>>) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.arriving %x by %words[%n x %n] at %n : !tile.ptr<f32>, !tile.ptr<i64>, i64
  // expected-note @+1 {{which chooses among several matrices}}
  %begin = arith.select %isSecond, %a, %y : !tile.ptr<f32>
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %base = tile.splat %begin : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  // expected-error @+1 {{what this load reads of arriving memory is not a box with sides affine in the program's numbers}}
  %v = tile.load %p : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
  tile.store %out, %v : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}
