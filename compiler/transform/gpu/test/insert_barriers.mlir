// RUN: tandem-opt --assign-layouts --insert-barriers %s | FileCheck %s
// Stores of one buffer at shifted places meet through other threads; at the same places each thread has its own.

// CHECK-LABEL: func.func @shifted
// CHECK: tile.store
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.store
func.func @shifted(%o: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// CHECK-LABEL: func.func @same
// CHECK-NOT: simt.barrier
func.func @same(%o: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// All threads meet in a grid barrier: none of the block's own is needed behind it.
// CHECK-LABEL: func.func @behind_grid_barrier
// CHECK: simt.grid_barrier
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @behind_grid_barrier(%o: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  simt.grid_barrier
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// The program puts as one, and its threads meet; where each warp has a peer of its own they do not.
// CHECK-LABEL: func.func @put_of_program
// CHECK: dist.put warp
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @put_of_program(%o: !tile.ptr<f32>, %s: !tile.ptr<f32>, %n: i64, %peer: i32) attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  dist.put warp %s, %s, %n on %peer : !tile.ptr<f32>, !tile.ptr<f32>
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// CHECK-LABEL: func.func @puts_of_warps
// CHECK: dist.put warp
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.store
func.func @puts_of_warps(%o: !tile.ptr<f32>, %s: !tile.ptr<f32>, %n: i64) attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %lanes = arith.constant 32 : i32
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %thread = simt.tid 0
  %peer = arith.divui %thread, %lanes : i32
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  dist.put warp %s, %s, %n on %peer : !tile.ptr<f32>, !tile.ptr<f32>
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// A put that adds to a signal happens once for each warp in a kernel whose threads differ.
// CHECK-LABEL: func.func @signalling_puts
// CHECK: dist.put_signal warp
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.store
func.func @signalling_puts(%o: !tile.ptr<f32>, %s: !tile.ptr<f32>, %f: !tile.ptr<i64>, %n: i64, %peer: i32) -> i32 attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %thread = simt.tid 0
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  dist.put_signal warp %s, %s, %n then add %f, %n on %peer : !tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<i64>
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return %thread : i32
}

// Each thread updates a word of its own: the block does not meet, though the update releases. The number of the thread
// may come from assembly.
// CHECK-LABEL: func.func @updates_of_threads
// CHECK: tile.atomic_rmw
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.store
func.func @updates_of_threads(%o: !tile.ptr<f32>, %w: !tile.ptr<i32>, %x: i32) attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %thread = tile.inline_asm "mov.u32 $0, %tid.x;", "=r"() {pack = 1 : i32, pure = true} : () -> i32
  %word = tile.addptr %w, %thread : !tile.ptr<i32>, i32
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %old = tile.atomic_rmw add acq_rel gpu %word, %x : !tile.ptr<i32>, i32 -> i32
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// CHECK-LABEL: func.func @update_of_program
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @update_of_program(%o: !tile.ptr<f32>, %w: !tile.ptr<i32>, %x: i32) attributes {tile.num_warps = 4 : i32} {
  %one = arith.constant dense<1> : tensor<128xi32>
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %p, %one : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %old = tile.atomic_rmw add acq_rel gpu %w, %x : !tile.ptr<i32>, i32 -> i32
  tile.store %q, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// Nobody writes what the producer loads at a time of its own; what only the consumers load they may have stored.
// CHECK-LABEL: func.func @producers_loads
// CHECK: tile.store
// CHECK-NEXT: tile.load %arg1
// CHECK-NEXT: tile.store %arg3
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.load %arg2
func.func @producers_loads(%o: !tile.ptr<f32>, %n: !tile.ptr<i32>, %m: !tile.ptr<i32>, %k: !tile.ptr<i32>)
    attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = tgpu.ring 2 bytes 1024
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tgpu.warp_specialize consumer {
    tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
    %a = tile.load %n : !tile.ptr<i32> -> i32
    tile.store %k, %a : !tile.ptr<i32>, i32
    %b = tile.load %m : !tile.ptr<i32> -> i32
    tile.store %k, %b : !tile.ptr<i32>, i32
  } producer {
    %a = tile.load %n : !tile.ptr<i32> -> i32
    scf.for %i = %zero to %a step %one : i32 {
      tgpu.acquire %ring
      tgpu.commit %ring
    }
  }
  return
}

// What came before a loop is met before it, not in each iteration.
// CHECK-LABEL: func.func @before_loop
// CHECK: tile.store
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @before_loop(%o: !tile.ptr<f32>, %n: !tile.ptr<i32>, %k: !tile.ptr<i32>, %count: i32) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %sum = scf.for %i = %zero to %count step %one iter_args(%sum = %zero) -> i32 : i32 {
    %at = tile.addptr %n, %i : !tile.ptr<i32>, i32
    %a = tile.load %at : !tile.ptr<i32> -> i32
    %next = arith.addi %sum, %a : i32
    scf.yield %next : i32
  }
  tile.store %k, %sum : !tile.ptr<i32>, i32
  return
}

// Where an iteration stores, the next one's meeting stands in the loop, for what came before it as well.
// CHECK-LABEL: func.func @in_loop
// CHECK: tile.store
// CHECK-NOT: simt.barrier
// CHECK: scf.for
// CHECK: simt.barrier
// CHECK-NEXT: tile.load
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @in_loop(%o: !tile.ptr<f32>, %n: !tile.ptr<i32>, %count: i32) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  scf.for %i = %zero to %count step %one : i32 {
    %at = tile.addptr %n, %i : !tile.ptr<i32>, i32
    %a = tile.load %at : !tile.ptr<i32> -> i32
    %f = arith.sitofp %a : i32 to f32
    %all = tile.splat %f : f32 -> tensor<128xf32>
    tile.store %p, %all : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  }
  return
}

// What is written through one parameter and read through another may be the same memory, unless the launch promises that it is
// not. The kernel then says what it needs of launches.
// CHECK-LABEL: func.func @unknown
// CHECK: tile.store
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.load
func.func @unknown(%o: !tile.ptr<f32>, %i: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %from = tile.splat %i : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %from, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %x = tile.load %q : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  tile.store %q, %x : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// CHECK-LABEL: func.func @promised
// CHECK-SAME: tile.apart = array<i32: 0, 1>
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @promised(%o: !tile.ptr<f32>, %i: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %from = tile.splat %i : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %from, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %x = tile.load %q : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  tile.store %q, %x : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// The block's own meeting, for slots of its shared memory, leaves stores by TMA under way; one of the kernel's completes them.
// CHECK-LABEL: func.func @slots
// CHECK: simt.barrier in_block{{$}}
// CHECK-NEXT: simt.barrier completing
// CHECK-NEXT: tile.block_store
func.func @slots(%o: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %n: i32) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %next = arith.constant 1 : i64
  %size = arith.constant 128 : i64
  %number = arith.constant 1.0 : f16
  %value = tile.splat %number {tgpu.layout = [#tgpu.layout<[16, 128], registers = [1, 1024, 32, 64], lanes = [2, 4, 128, 256, 512], warps = [8, 16]>]} : f16 -> tensor<16x128xf16>
  scf.for %i = %zero to %n step %one : i32 {
    simt.barrier in_block
    simt.barrier
    tile.block_store %value, %o shape(%size, %size) strides(%size, %next) at(%zero, %zero) check [0, 1] {descriptor, tgpu.tma} : tensor<16x128xf16>, !tile.ptr<f16>
  }
  return
}

// CHECK-LABEL: func.func @but_for_these
// CHECK-NOT: tile.apart
// CHECK: tile.store
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.load
func.func @but_for_these(%o: !tile.ptr<f32>, %i: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32: 0, 1>} {
  %value = arith.constant dense<1.0> : tensor<128xf32>
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %from = tile.splat %i : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %from, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  tile.store %p, %value : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  %x = tile.load %q : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  tile.store %q, %x : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// What one parameter's loads have read another one's stores may overwrite, where a launch says that it is one memory.
// CHECK-LABEL: func.func @read_before
// CHECK: tile.load
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: tile.store
// CHECK-LABEL: func.func @read_apart
// CHECK-NOT: tile.apart
// CHECK: tile.load
// CHECK-NEXT: tile.store
func.func @read_before(%o: !tile.ptr<f32>, %i: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32: 0, 1>} {
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %from = tile.splat %i : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %from, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %x = tile.load %q : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  tile.store %p, %x : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}
func.func @read_apart(%o: !tile.ptr<f32>, %i: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32, tile.overlapping = array<i32>} {
  %range = tile.make_range 0 to 128 : tensor<128xi32>
  %base = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %from = tile.splat %i : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
  %p = tile.addptr %base, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %q = tile.addptr %from, %range : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  %x = tile.load %q : tensor<128x!tile.ptr<f32>> -> tensor<128xf32>
  tile.store %p, %x : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
  return
}

// A load of what the loop writes waits for the threads; the one before it, of what nothing there writes, comes behind the
// barrier, too, so that both are under way together.
// CHECK-LABEL: func.func @loads_together
// CHECK: scf.for
// CHECK-NOT: tile.load
// CHECK: simt.barrier
// CHECK-NEXT: tile.load
// CHECK: tile.load
// CHECK: simt.barrier
// CHECK-NEXT: tile.store
// CHECK-NOT: simt.barrier
func.func @loads_together(%o: !tile.ptr<f32>, %x: !tile.ptr<f32>, %n: i32) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %at = tile.addptr %o, %i : !tile.ptr<f32>, i32
    %next = tile.addptr %at, %one : !tile.ptr<f32>, i32
    %from = tile.addptr %x, %i : !tile.ptr<f32>, i32
    %a = tile.load %from : !tile.ptr<f32> -> f32
    %twice = arith.addf %a, %a : f32
    %b = tile.load %at : !tile.ptr<f32> -> f32
    %sum = arith.addf %twice, %b : f32
    tile.store %next, %sum : !tile.ptr<f32>, f32
  }
  return
}
