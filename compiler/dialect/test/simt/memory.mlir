// Round trip of per-thread accesses.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @memory(%p: !tile.ptr<f32>, %x: f32, %v: vector<4xf32>, %q: !tile.ptr<i64>, %n: i64) {
  // CHECK: simt.ld acquire sys %{{[a-z0-9]+}} : !tile.ptr<i64> -> i64
  %0 = simt.ld acquire sys %q : !tile.ptr<i64> -> i64
  // CHECK: simt.ld relaxed gpu %{{[a-z0-9]+}} {weak} : !tile.ptr<f32> -> vector<4xf32>
  %1 = simt.ld relaxed gpu %p {weak} : !tile.ptr<f32> -> vector<4xf32>
  // CHECK: simt.st release gpu %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i64>, i64
  simt.st release gpu %q, %n : !tile.ptr<i64>, i64
  // CHECK: simt.st relaxed cta %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<f32>, vector<4xf32>
  simt.st relaxed cta %p, %v : !tile.ptr<f32>, vector<4xf32>
  // CHECK: simt.atomic_rmw add acq_rel sys %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i64>, i64 -> i64
  %2 = simt.atomic_rmw add acq_rel sys %q, %n : !tile.ptr<i64>, i64 -> i64
  // CHECK: simt.atomic_cas relaxed gpu %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i64>, i64
  %3 = simt.atomic_cas relaxed gpu %q, %n, %n : !tile.ptr<i64>, i64
  // CHECK: simt.multimem_st %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<f32>, vector<4xf32>
  simt.multimem_st %p, %v : !tile.ptr<f32>, vector<4xf32>
  // CHECK: simt.multimem_ld_reduce %{{[a-z0-9]+}} : !tile.ptr<f32> -> vector<4xf32>
  %4 = simt.multimem_ld_reduce %p : !tile.ptr<f32> -> vector<4xf32>
  return
}
