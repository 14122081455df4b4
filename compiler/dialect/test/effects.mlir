// Pure ops without a use go away; accesses, waits, barriers and fences stay, in order, and equal waits are not merged.
// RUN: tandem-opt %s -canonicalize -cse | FileCheck %s

// CHECK-LABEL: @effects
// CHECK-NOT: tile.splat
// CHECK: dist.wait
// CHECK-NEXT: dist.wait
// CHECK-NEXT: dist.fence
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: dist.notify
// CHECK-NEXT: dist.quiet
// CHECK-NEXT: return
func.func @effects(%f: !tile.ptr<i64>, %n: i64, %i: i32, %s: f32) {
  %0 = tile.splat %s : f32 -> tensor<8xf32>
  %1 = dist.wait acquire sys %f[%i] eq %n : !tile.ptr<i64>, i64
  %2 = dist.wait acquire sys %f[%i] eq %n : !tile.ptr<i64>, i64
  dist.fence
  simt.barrier
  dist.notify set inter_node %f, %n on %i : !tile.ptr<i64>
  dist.quiet
  return
}

// Two loads of one address are one unless something may write between them.
// CHECK-LABEL: @loads
// CHECK: %[[A:.*]] = tile.load
// CHECK-NEXT: dist.wait
// CHECK-NEXT: %[[B:.*]] = tile.load
// CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
func.func @loads(%p: !tile.ptr<f32>, %f: !tile.ptr<i64>, %n: i64, %i: i32) -> (f32, f32, f32) {
  %0 = tile.load %p : !tile.ptr<f32> -> f32
  %1 = tile.load %p : !tile.ptr<f32> -> f32
  %2 = dist.wait acquire sys %f[%i] eq %n : !tile.ptr<i64>, i64
  %3 = tile.load %p : !tile.ptr<f32> -> f32
  return %0, %1, %3 : f32, f32, f32
}

// A volatile load and a strong per-thread load happen as often as they are written, and stay when nobody looks.
// CHECK-LABEL: @strong
// CHECK-COUNT-2: tile.load
// CHECK-COUNT-2: simt.ld acquire
// CHECK-NOT: simt.ld
// CHECK: return
func.func @strong(%p: !tile.ptr<i64>) {
  %0 = tile.load %p {isVolatile} : !tile.ptr<i64> -> i64
  %1 = tile.load %p {isVolatile} : !tile.ptr<i64> -> i64
  %2 = simt.ld acquire sys %p : !tile.ptr<i64> -> i64
  %3 = simt.ld acquire sys %p : !tile.ptr<i64> -> i64
  %4 = simt.ld relaxed gpu %p {weak} : !tile.ptr<i64> -> i64
  return
}

// CHECK-LABEL: @assembly
// CHECK-NOT: "first"
// CHECK: tile.inline_asm "second"
func.func @assembly(%x: i32) {
  %0 = tile.inline_asm "first", "=r,r"(%x) {pack = 1 : i32, pure = true} : (i32) -> i32
  %1 = tile.inline_asm "second", "=r,r"(%x) {pack = 1 : i32, pure = false} : (i32) -> i32
  return
}
