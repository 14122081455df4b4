// RUN: tandem-opt %s --check-signals='ranks=2 grid=2 numbers=0,0,3,7' --split-input-file --verify-diagnostics | FileCheck %s

// Two programs of each rank send a signal to the other rank each, and a third program's worth is nobody's: all that is waited for comes.
// The number of tiles decides that, the number of the call does not.
// CHECK-LABEL: func.func @all_come
// CHECK-SAME:  !tile.ptr<i64> {dist.decides_signals}, %{{[a-z0-9]*}}: !tile.ptr<f32>, %{{[a-z0-9]*}}: i32 {dist.decides_signals}, %{{[a-z0-9]*}}: i64)
func.func @all_come(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %id = tile.program_id 0
  %step = tile.num_programs 0
  %rank = dist.rank
  %peer = arith.subi %one, %rank : i32
  %nth = dist.call_number %call : i64
  scf.for %tile = %id to %tiles step %step : i32 {
    %word = tile.addptr %words, %tile : !tile.ptr<i64>, i32
    dist.notify add intra_node %word, %once on %peer : !tile.ptr<i64>
  }
  scf.for %tile = %id to %tiles step %step : i32 {
    %word = tile.addptr %words, %tile : !tile.ptr<i64>, i32
    %token = dist.wait acquire sys %word[%one] ge %nth : !tile.ptr<i64>, i64
  }
  return
}

// -----

// The last tile is nobody's.
func.func @hole(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %id = tile.program_id 0
  %step = tile.num_programs 0
  %rank = dist.rank
  %peer = arith.subi %one, %rank : i32
  %nth = dist.call_number %call : i64
  %last = arith.subi %tiles, %one : i32
  scf.for %tile = %id to %last step %step : i32 {
    %word = tile.addptr %words, %tile : !tile.ptr<i64>, i32
    dist.notify add intra_node %word, %once on %peer : !tile.ptr<i64>
  }
  scf.for %tile = %id to %tiles step %step : i32 {
    %word = tile.addptr %words, %tile : !tile.ptr<i64>, i32
    // expected-error @+1 {{nobody signals what this waits for, word 2 of rank 0}}
    %token = dist.wait acquire sys %word[%one] ge %nth : !tile.ptr<i64>, i64
  }
  return
}

// -----

// Both programs signal all tiles, of which one signal is waited for.
func.func @overlap(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %rank = dist.rank
  %peer = arith.subi %one, %rank : i32
  %nth = dist.call_number %call : i64
  scf.for %tile = %zero to %tiles step %one : i32 {
    %word = tile.addptr %words, %tile : !tile.ptr<i64>, i32
    // expected-error @+1 {{all programs together send 2 signals to word 0 of rank 0, of which 1 are waited for}}
    dist.notify add intra_node %word, %once on %peer : !tile.ptr<i64>
  }
  // expected-note @+1 {{it passes before all of them are there}}
  %token = dist.wait acquire sys %words[%one] ge %nth : !tile.ptr<i64>, i64
  return
}

// -----

func.func @too_few(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %three = arith.constant 3 : i64
  %rank = dist.rank
  %nth = dist.call_number %call : i64
  %all = arith.muli %nth, %three : i64
  dist.notify add intra_node %words, %once on %rank : !tile.ptr<i64>
  // expected-error @+1 {{this waits for 3 signals at word 0 of rank 0, to which all programs together send 2}}
  %token = dist.wait acquire sys %words[%one] ge %all : !tile.ptr<i64>, i64
  return
}

// -----

func.func @no_such_rank(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %rank = dist.rank
  %next = arith.addi %rank, %one : i32
  // expected-error @+1 {{this signal goes to rank 2 of 2, by rank 1}}
  dist.notify add intra_node %words, %once on %next : !tile.ptr<i64>
  return
}

// -----

func.func @claim(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %rank = dist.rank
  %holds = arith.cmpi slt, %rank, %one : i32
  // expected-error @+1 {{only the first, on rank 1}}
  tile.assert %holds, "only the first" : i1
  dist.notify add intra_node %words, %once on %rank : !tile.ptr<i64>
  return
}

// -----

// Each rank's signal comes behind its wait for the other's.
func.func @circle(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %id = tile.program_id 0
  %rank = dist.rank
  %peer = arith.subi %one, %rank : i32
  %nth = dist.call_number %call : i64
  %word = tile.addptr %words, %id : !tile.ptr<i64>, i32
  // expected-error @+2 {{this never ends, because programs wait for each other: word 0 of rank 0}}
  // expected-note @+1 {{behind this wait, for word 0 of rank 1}}
  %token = dist.wait acquire sys %word[%one] ge %nth : !tile.ptr<i64>, i64
  // expected-note @+1 {{the signal for it is here}}
  dist.notify add intra_node %word, %once on %peer : !tile.ptr<i64>
  return
}

// -----

// A wait whose word is loaded is taken to end; where a loaded value decides a signal nothing is said.
// CHECK-LABEL: func.func @by_table
func.func @by_table(%words: !tile.ptr<i64>, %table: !tile.ptr<i32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %rank = dist.rank
  %nth = dist.call_number %call : i64
  dist.notify add intra_node %words, %once on %rank : !tile.ptr<i64>
  %place = tile.load %table : !tile.ptr<i32> -> i32
  %word = tile.addptr %words, %place : !tile.ptr<i64>, i32
  %token = dist.wait acquire sys %word[%one] ge %nth : !tile.ptr<i64>, i64
  return
}
// CHECK-LABEL: func.func @by_loaded_condition
func.func @by_loaded_condition(%words: !tile.ptr<i64>, %table: !tile.ptr<i32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %once = arith.constant 1 : i64
  %rank = dist.rank
  %nth = dist.call_number %call : i64
  %told = tile.load %table : !tile.ptr<i32> -> i32
  %is = arith.cmpi eq, %told, %one : i32
  scf.if %is {
    dist.notify add intra_node %words, %once on %rank : !tile.ptr<i64>
  }
  %token = dist.wait acquire sys %words[%one] ge %nth : !tile.ptr<i64>, i64
  return
}

// -----

// Words that are not compared with the number of a call may come from anywhere.
// CHECK-LABEL: func.func @elsewhere
func.func @elsewhere(%words: !tile.ptr<i64>, %data: !tile.ptr<f32>, %tiles: i32, %call: i64) {
  %one = arith.constant 1 : i32
  %token = dist.wait acquire sys %words[%one] ge %call : !tile.ptr<i64>, i64
  return
}
