// RUN: tandem-opt --tell-departures %s --split-input-file --verify-diagnostics | FileCheck %s

// The program behind this rank's comes first. One signal behind the loop, to each chunk that its stores touch.
// CHECK-LABEL: func.func @rows
// CHECK-DAG:   %[[ID:.*]] = tile.program_id 0
// CHECK-DAG:   %[[RANK:.*]] = dist.rank
// CHECK-DAG:   %[[NEXT:.*]] = arith.addi %[[RANK]], %{{.*}}
// CHECK-DAG:   arith.muli %[[NEXT]]
// CHECK:       arith.remsi
// CHECK:       scf.for
// CHECK-NOT:     dist.notify
// CHECK:         tile.store
// CHECK:       }
// CHECK:       scf.for %[[CHUNK:.*]] =
// CHECK:         %[[WORD:.*]] = tile.addptr %{{.*}}, %[[CHUNK]]
// CHECK-NEXT:    dist.notify add intra_node %[[WORD]], %{{.*}} on %{{.*}} : !tile.ptr<i64>
func.func @rows(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %chunk: i64, %chunks: i64, %stride: i32, %k: i32) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %a = dist.leaving %x by %words[%chunk x %chunks] : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %start = arith.muli %id, %stride : i32
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  scf.for %i = %zero to %k step %step : i32 {
    %at = arith.addi %start, %i : i32
    %tile = tile.splat %at : i32 -> tensor<16xi32>
    %offsets = arith.addi %tile, %range : tensor<16xi32>
    %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    tile.store %p, %none : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  }
  return
}

// -----

// A `while` that counts is a loop like any other: it deals tiles out from the program's number on, and begins at the next rank's share.
// CHECK-LABEL: func.func @dealt_by_while
// CHECK-DAG:   %[[ID:.*]] = tile.program_id 0
// CHECK-DAG:   %[[STEP:.*]] = tile.num_programs 0
// CHECK-NOT:   scf.while
// CHECK:       scf.for %{{.*}} = %[[ID]] to %{{.*}} step %[[STEP]]
// CHECK:         arith.remsi
// CHECK:         tile.store
// CHECK:         scf.for
// CHECK:           dist.notify
func.func @dealt_by_while(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %tiles: i32, %v: f32) {
  %a = dist.leaving %x by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %three = arith.constant 3 : i32
  scf.while (%tile = %id) : (i32) -> i32 {
    %most = arith.muli %tiles, %three : i32
    %more = arith.cmpi slt, %tile, %most : i32
    scf.condition(%more) %tile : i32
  } do {
  ^bb0(%tile: i32):
    %p = tile.addptr %a, %tile : !tile.ptr<f32>, i32
    tile.store %p, %v : !tile.ptr<f32>, f32
    %step = tile.num_programs 0
    %next = arith.addi %tile, %step : i32
    scf.yield %next : i32
  }
  return
}

// -----

// Numbers alone decide how often a `while` runs that is no counting loop.
// CHECK-LABEL: func.func @halving
// CHECK:       scf.while
// CHECK:         tile.store
// CHECK:         dist.notify
func.func @halving(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %size: i32, %v: f32) {
  %a = dist.leaving %x by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  scf.while (%left = %size) : (i32) -> i32 {
    %more = arith.cmpi sgt, %left, %zero : i32
    scf.condition(%more) %left : i32
  } do {
  ^bb0(%left: i32):
    %p = tile.addptr %a, %left : !tile.ptr<f32>, i32
    tile.store %p, %v : !tile.ptr<f32>, f32
    %next = arith.divsi %left, %two : i32
    scf.yield %next : i32
  }
  return
}

// -----

// A kernel that only counts has no loads and no stores left, but signals as often; its programs keep their order.
// CHECK-LABEL: func.func @counted
// CHECK-NOT:   tile.load
// CHECK-NOT:   tile.store
// CHECK-NOT:   arith.remsi
// CHECK:       dist.notify
// CHECK-NOT:   tile.store
// CHECK:       return
func.func @counted(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %from: !tile.ptr<f32>, %other: !tile.ptr<f32>) {
  %a = dist.leaving %x by %words[%n x %n] counted : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %v = tile.load %from : !tile.ptr<f32> -> f32
  %p = tile.addptr %a, %id : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  tile.store %other, %v : !tile.ptr<f32>, f32
  return
}

// -----

// A kernel that only counts: what its products do, of all iterations at once, goes to the word behind those of the chunks.
// CHECK-LABEL: func.func @products
// CHECK-NOT:   tile.load
// CHECK-DAG:   %[[WORD:.*]] = tile.addptr %{{.*}}, %{{.*}} : !tile.ptr<i64>, i64
// CHECK-DAG:   %[[TURNS:.*]] = arith.ceildivsi
// CHECK-DAG:   %[[ALL:.*]] = arith.muli %[[TURNS]], %{{.*}} : i64
// CHECK:       dist.notify add intra_node %[[WORD]], %[[ALL]] on
// CHECK-NOT:   tile.dot
// CHECK-NOT:   tile.store
// CHECK:       return
func.func @products(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %k: i32, %out: tensor<16x16x!tile.ptr<f32>>) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 16 : i32
  %a = dist.leaving %x by %words[%n x %n] counted : !tile.ptr<f32>, !tile.ptr<i64>
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %places = tile.splat %a : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  %sum = scf.for %i = %zero to %k step %step iter_args(%acc = %none) -> tensor<16x16xf32> : i32 {
    %v = tile.load %places : tensor<16x16x!tile.ptr<f32>> -> tensor<16x16xf32>
    %next = tile.dot %v, %v, %acc : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %out, %sum : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  return
}

// -----

// A load from there is told of, too, and so is an addition.
// CHECK-LABEL: func.func @read_again
// CHECK:         tile.load
// CHECK:         tile.atomic_rmw
// CHECK:         scf.for
// CHECK-NEXT:      tile.addptr
// CHECK-NEXT:      dist.notify add intra_node
func.func @read_again(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64) {
  %a = dist.leaving %x by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  %v = tile.load %a : !tile.ptr<f32> -> f32
  %old = tile.atomic_rmw fadd relaxed gpu %a, %v : !tile.ptr<f32>, f32 -> f32
  return
}

// -----

func.func @exchanged(%x: !tile.ptr<i32>, %words: !tile.ptr<i64>, %n: i64, %v: i32) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.leaving %x by %words[%n x %n] : !tile.ptr<i32>, !tile.ptr<i64>
  // expected-error @+1 {{only loads, stores and atomic updates may use memory that leaves}}
  %old = tile.atomic_cas relaxed gpu %a, %v, %v : !tile.ptr<i32>, i32
  return
}

// -----

// A table gives the programs their numbers, and these are turned.
// CHECK-LABEL: func.func @ordered
// CHECK-SAME:    %[[TABLE:arg2]]: !tile.ptr<i32>
// CHECK:         %[[ENTRY:.*]] = tile.addptr %[[TABLE]], %{{.*}} : !tile.ptr<i32>, i32
// CHECK:         %[[LOADED:.*]] = tile.load %[[ENTRY]]
// CHECK:         %[[PLACE:.*]] = arith.maxsi %[[LOADED]], %{{.*}}
// CHECK:         arith.remsi %[[PLACE]], %{{.*}}
// CHECK-NOT:     dist.ordered
// CHECK:         tile.store
func.func @ordered(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %order: !tile.ptr<i32>, %n: i64, %v: f32) {
  %o = dist.ordered %x by %order : !tile.ptr<f32>, !tile.ptr<i32>
  %a = dist.leaving %o by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %p = tile.addptr %a, %id : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

// Programs that may wait for each other keep their numbers, whatever the table says.
// CHECK-LABEL: func.func @ordered_but_waiting
// CHECK-NOT:     tile.load
// CHECK:         %[[ID:.*]] = tile.program_id 0
// CHECK:         tile.addptr %{{.*}}, %[[ID]]
// CHECK-NOT:     dist.ordered
func.func @ordered_but_waiting(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %order: !tile.ptr<i32>, %n: i64, %v: f32, %lock: !tile.ptr<i32>, %out: !tile.ptr<i32>) {
  %o = dist.ordered %x by %order : !tile.ptr<f32>, !tile.ptr<i32>
  %a = dist.leaving %o by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  %one = arith.constant 1 : i32
  %id = tile.program_id 0
  %old = tile.atomic_rmw add relaxed gpu %lock, %one : !tile.ptr<i32>, i32 -> i32
  tile.store %out, %old : !tile.ptr<i32>, i32
  %p = tile.addptr %a, %id : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

// What stands between two products counts as operations of the second.
// CHECK-LABEL: func.func @products_of_a_product
// CHECK-DAG:   %[[FIRST:.*]] = arith.constant 8192 : i64
// CHECK-DAG:   %[[SECOND:.*]] = arith.constant 32768 : i64
// CHECK-DAG:   dist.notify add intra_node %{{.*}}, %[[FIRST]] on
// CHECK-DAG:   dist.notify add intra_node %{{.*}}, %[[SECOND]] on
func.func @products_of_a_product(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %out: tensor<16x16x!tile.ptr<f32>>) {
  %a = dist.leaving %x by %words[%n x %n] counted : !tile.ptr<f32>, !tile.ptr<i64>
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %places = tile.splat %a : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  %v = tile.load %places : tensor<16x16x!tile.ptr<f32>> -> tensor<16x16xf32>
  %scores = tile.dot %v, %v, %none : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %weights = arith.mulf %scores, %scores : tensor<16x16xf32>
  %sum = tile.dot %weights, %v, %none : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.store %out, %sum : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  return
}

// -----

// A kernel that counts writes there which elements a program touches, the first one and the last one, by its place in the launch.
// CHECK-LABEL: func.func @noted
// CHECK-SAME:    %[[TABLE:arg2]]: !tile.ptr<i64>
// CHECK:         dist.notify add
// CHECK:         %[[PLACE:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK:         %[[TO:.*]] = tile.addptr %[[TABLE]], %[[PLACE]] : !tile.ptr<i64>, i32
// CHECK:         tile.store %[[TO]], %{{.*}} : !tile.ptr<i64>, i64
// CHECK:         %[[BEHIND:.*]] = tile.addptr %[[TO]], %{{.*}} : !tile.ptr<i64>, i32
// CHECK:         tile.store %[[BEHIND]], %{{.*}} : !tile.ptr<i64>, i64
// CHECK-NOT:     tile.store
func.func @noted(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %order: !tile.ptr<i64>, %n: i64, %v: f32) {
  %o = dist.ordered %x by %order : !tile.ptr<f32>, !tile.ptr<i64>
  %a = dist.leaving %o by %words[%n x %n] counted : !tile.ptr<f32>, !tile.ptr<i64>
  %id = tile.program_id 0
  %p = tile.addptr %a, %id : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

func.func @waits_for_others(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %lock: !tile.ptr<i32>, %count: i32, %v: f32) {
  %one = arith.constant 1 : i32
  // expected-error @+1 {{programs of a kernel that may wait for others are not dealt out}}
  %d = dist.dealt %x among %count, %one, %one : !tile.ptr<f32>
  %a = dist.leaving %d by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  %zero = arith.constant 0 : i32
  %old = tile.atomic_cas acq_rel gpu %lock, %zero, %one : !tile.ptr<i32>, i32
  %p = tile.addptr %a, %old : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

func.func @scattered(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %rows: tensor<16x!tile.ptr<i32>>, %v: tensor<16xf32>) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.leaving %x by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  // expected-note @+1 {{its places cannot be followed beyond this}}
  %offsets = tile.load %rows : tensor<16x!tile.ptr<i32>> -> tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %p = tile.addptr %base, %offsets : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  // expected-error @+1 {{what this access touches of leaving memory is not a box with sides affine in the program's numbers}}
  tile.store %p, %v : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
  return
}

// -----

func.func @from_a_table(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %table: !tile.ptr<i32>, %v: f32) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.leaving %x by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  %row = tile.load %table : !tile.ptr<i32> -> i32
  %p = tile.addptr %a, %row : !tile.ptr<f32>, i32
  // expected-error @+1 {{what this access touches of leaving memory depends on what the kernel loads}}
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

func.func @returned(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64) -> !tile.ptr<f32> {
  // expected-error @+1 {{which stores write leaving memory cannot be told}}
  %a = dist.leaving %x by %words[%n x %n] : !tile.ptr<f32>, !tile.ptr<i64>
  return %a : !tile.ptr<f32>
}

// -----

// A loop that names the memory tells of its products in each iteration.
// CHECK-LABEL: func.func @counted_in_a_loop
// CHECK:       scf.for
// CHECK:         %[[ALL:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK:         dist.notify add intra_node %{{.*}}, %[[ALL]] on
// CHECK-NOT:   tile.dot
// CHECK:       return
func.func @counted_in_a_loop(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i32, %k: i32, %v: tensor<16x16xf32>, %out: tensor<16x16x!tile.ptr<f32>>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %k step %one : i32 {
    %chunk = arith.extsi %n : i32 to i64
    %a = dist.leaving %x by %words[%chunk x %chunk] counted : !tile.ptr<f32>, !tile.ptr<i64>
    %w = tile.load %a : !tile.ptr<f32> -> f32
    %c = tile.splat %w : f32 -> tensor<16x16xf32>
    %sum = scf.for %j = %zero to %k step %one iter_args(%acc = %c) -> tensor<16x16xf32> : i32 {
      %next = tile.dot %v, %v, %acc : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    tile.store %out, %sum : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  }
  return
}

// -----

func.func @named_too_late(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i64, %v: tensor<16x16xf32>, %none: tensor<16x16xf32>, %out: tensor<16x16x!tile.ptr<f32>>) {
  %sum = tile.dot %v, %v, %none : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.store %out, %sum : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xf32>
  // expected-error @+1 {{names the memory that leaves before all of its products}}
  %a = dist.leaving %x by %words[%n x %n] counted : !tile.ptr<f32>, !tile.ptr<i64>
  %w = tile.load %a : !tile.ptr<f32> -> f32
  tile.store %x, %w : !tile.ptr<f32>, f32
  return
}

// -----

// The words are known in the loop alone, so each iteration signals.
// CHECK-LABEL: func.func @named_in_a_loop
// CHECK:       scf.for
// CHECK:         scf.for
// CHECK:           tile.store
// CHECK:         }
// CHECK:         scf.for
// CHECK:           dist.notify
// CHECK:         }
// CHECK:       }
// CHECK-NOT:   dist.notify
func.func @named_in_a_loop(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %n: i32, %k: i32, %v: f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %k step %one : i32 {
    %chunk = arith.extsi %n : i32 to i64
    %a = dist.leaving %x by %words[%chunk x %chunk] : !tile.ptr<f32>, !tile.ptr<i64>
    scf.for %j = %zero to %k step %one : i32 {
      %p = tile.addptr %a, %j : !tile.ptr<f32>, i32
      tile.store %p, %v : !tile.ptr<f32>, f32
    }
  }
  return
}

// -----

// The peers' parts, when they are there, are added to this rank's share: of two ranks to what the store stores, of more behind it, in the
// order of ranks, to what it has stored.
// CHECK-LABEL: func.func @summed
// CHECK-SAME:    %[[PARTS:arg2]]: !tile.ptr<f16>, %[[READY:arg3]]: !tile.ptr<i64>
// CHECK:         %[[VALUES:.*]] = tile.splat %{{.*}} : f16
// CHECK:         scf.if
// CHECK:           tile.addptr %[[READY]]
// CHECK:           dist.wait
// CHECK:           %[[THERE:.*]] = dist.consume_token %[[PARTS]]
// CHECK:           tile.addptr %[[THERE]]
// CHECK:           %[[PART:.*]] = tile.load
// CHECK-DAG:       tile.fp_to_fp %[[VALUES]]
// CHECK-DAG:       tile.fp_to_fp %[[PART]]
// CHECK:           %[[SUM:.*]] = tile.fp_to_fp
// CHECK:           tile.store %{{.*}}, %[[SUM]]
// CHECK:         } else {
// CHECK:           tile.store %{{.*}}, %[[VALUES]]
// CHECK:           scf.if
// CHECK:             dist.wait
// CHECK:             scf.for
// CHECK:               tile.load
// CHECK:             tile.load
// CHECK:             scf.for
// CHECK:               tile.load
// CHECK:             tile.store
// CHECK:           }
// CHECK:         }
// CHECK:         dist.notify
func.func @summed(%x: !tile.ptr<f16>, %words: !tile.ptr<i64>, %parts: !tile.ptr<f16>, %ready: !tile.ptr<i64>, %n: i64, %v: f16) {
  %a = dist.leaving %x by %words[%n x %n] plus %parts when %ready[%n] : !tile.ptr<f16>, !tile.ptr<i64>, !tile.ptr<f16>, !tile.ptr<i64>
  %size = arith.constant 16 : i32
  %id = tile.program_id 0
  %start = arith.muli %id, %size : i32
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %starts = tile.splat %start : i32 -> tensor<16xi32>
  %places = arith.addi %starts, %range : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f16> -> tensor<16x!tile.ptr<f16>>
  %p = tile.addptr %base, %places : tensor<16x!tile.ptr<f16>>, tensor<16xi32>
  %values = tile.splat %v : f16 -> tensor<16xf16>
  tile.store %p, %values : tensor<16x!tile.ptr<f16>>, tensor<16xf16>
  return
}

// -----

// With words in the place of parts the other rank's part is where the sum is to be: what this rank's share gets is added to zero, and then to it.
// CHECK-LABEL: func.func @updated
// CHECK-SAME:    %[[X:arg0]]: !tile.ptr<f16>
// CHECK:         %[[VALUES:.*]] = tile.splat %{{.*}} : f16
// CHECK:         scf.if
// CHECK:           dist.wait
// CHECK:           %[[THERE:.*]] = dist.consume_token %[[X]]
// CHECK:           %[[BASE:.*]] = tile.splat %[[THERE]]
// CHECK:           %[[TO:.*]] = tile.addptr %[[BASE]]
// CHECK:           arith.addf
// CHECK:           %[[SUM:.*]] = tile.fp_to_fp
// CHECK:           tile.atomic_rmw fadd relaxed gpu %[[TO]], %[[SUM]]
// CHECK:         } else {
// CHECK-NEXT:      tile.store %{{.*}}, %[[VALUES]]
// CHECK-NEXT:    }
// CHECK:         dist.notify
func.func @updated(%x: !tile.ptr<f16>, %words: !tile.ptr<i64>, %ready: !tile.ptr<i64>, %n: i64, %v: f16) {
  %a = dist.leaving %x by %words[%n x %n] plus %ready when %ready[%n] : !tile.ptr<f16>, !tile.ptr<i64>, !tile.ptr<i64>, !tile.ptr<i64>
  %size = arith.constant 16 : i32
  %id = tile.program_id 0
  %start = arith.muli %id, %size : i32
  %range = tile.make_range 0 to 16 : tensor<16xi32>
  %starts = tile.splat %start : i32 -> tensor<16xi32>
  %places = arith.addi %starts, %range : tensor<16xi32>
  %base = tile.splat %a : !tile.ptr<f16> -> tensor<16x!tile.ptr<f16>>
  %p = tile.addptr %base, %places : tensor<16x!tile.ptr<f16>>, tensor<16xi32>
  %values = tile.splat %v : f16 -> tensor<16xf16>
  tile.store %p, %values : tensor<16x!tile.ptr<f16>>, tensor<16xf16>
  return
}

// -----

// Integers, and what a loaded number lets be stored, perhaps a second time, are not updated.
func.func @integers_updated(%x: !tile.ptr<i32>, %words: !tile.ptr<i64>, %ready: !tile.ptr<i64>, %n: i64, %v: i32) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.leaving %x by %words[%n x %n] plus %ready when %ready[%n] : !tile.ptr<i32>, !tile.ptr<i64>, !tile.ptr<i64>, !tile.ptr<i64>
  // expected-error @+1 {{the peers' parts of what this store writes cannot be added here}}
  tile.store %a, %v : !tile.ptr<i32>, i32
  return
}

// -----

func.func @updated_where_told(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %ready: !tile.ptr<i64>, %n: i64, %y: !tile.ptr<i1>, %v: f32) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.leaving %x by %words[%n x %n] plus %ready when %ready[%n] : !tile.ptr<f32>, !tile.ptr<i64>, !tile.ptr<i64>, !tile.ptr<i64>
  %mask = tile.load %y : !tile.ptr<i1> -> i1
  // expected-error @+1 {{the peers' parts of what this store writes cannot be added here}}
  tile.store %a, %v mask %mask : i1 : !tile.ptr<f32>, f32
  return
}

// -----

// A kernel that only counts does so for each element that would be stored, too.
// CHECK-LABEL: func.func @stores_counted
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[COUNT:.*]] = tile.addptr %arg2, %{{.*}} : !tile.ptr<i32>, i32
// CHECK:         tile.atomic_rmw add relaxed gpu %[[COUNT]], %[[ONE]]
// CHECK-NOT:     tile.store
func.func @stores_counted(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %counts: !tile.ptr<i32>, %n: i64, %v: f32) {
  %a = dist.leaving %x by %words[%n x %n] plus %counts counted : !tile.ptr<f32>, !tile.ptr<i64>, !tile.ptr<i32>
  %id = tile.program_id 0
  %p = tile.addptr %a, %id : !tile.ptr<f32>, i32
  tile.store %p, %v : !tile.ptr<f32>, f32
  return
}

// -----

func.func @sum_in_a_loop(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %ready: !tile.ptr<i64>, %n: i64, %k: i32, %v: f32) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.leaving %x by %words[%n x %n] plus %x when %ready[%n] : !tile.ptr<f32>, !tile.ptr<i64>, !tile.ptr<f32>, !tile.ptr<i64>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %k step %one : i32 {
    %p = tile.addptr %a, %i : !tile.ptr<f32>, i32
    // expected-error @+1 {{only stores that run at most once, and side by side, can add the peers' parts}}
    tile.store %p, %v : !tile.ptr<f32>, f32
  }
  return
}

// -----

func.func @sum_of_an_update(%x: !tile.ptr<f32>, %words: !tile.ptr<i64>, %ready: !tile.ptr<i64>, %n: i64, %v: f32) {
  // expected-note @+1 {{it is this memory}}
  %a = dist.leaving %x by %words[%n x %n] plus %x when %ready[%n] : !tile.ptr<f32>, !tile.ptr<i64>, !tile.ptr<f32>, !tile.ptr<i64>
  // expected-error @+1 {{only stores can add the peers' parts}}
  %old = tile.atomic_rmw fadd relaxed gpu %a, %v : !tile.ptr<f32>, f32 -> f32
  return
}
