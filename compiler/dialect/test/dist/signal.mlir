// Round trip of signals and waits.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @signal(%f: !tile.ptr<i64>, %g: !tile.ptr<i32>, %n: i64, %i: i32, %r: i32, %p: tensor<8x!tile.ptr<f32>>) {
  // CHECK: dist.wait acquire sys %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] ge %{{[a-z0-9]+}} : !tile.ptr<i64>, i64
  %0 = dist.wait acquire sys %f[%i] ge %n : !tile.ptr<i64>, i64
  // CHECK: dist.wait relaxed gpu %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] eq %{{[a-z0-9]+}} : !tile.ptr<i32>, i32
  %1 = dist.wait relaxed gpu %g[%i] eq %i : !tile.ptr<i32>, i32
  // CHECK: dist.consume_token %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<8x!tile.ptr<f32>>
  %2 = dist.consume_token %p, %0 : tensor<8x!tile.ptr<f32>>
  // CHECK: dist.arriving %{{[a-z0-9]+}} by %{{[a-z0-9]+}}[%{{[a-z0-9]+}} x %{{[a-z0-9]+}}] at %{{[a-z0-9]+}} : !tile.ptr<i32>, !tile.ptr<i64>, i64
  %4 = dist.arriving %g by %f[%n x %n] at %n : !tile.ptr<i32>, !tile.ptr<i64>, i64
  // CHECK: dist.arriving %{{[a-z0-9]+}} by %{{[a-z0-9]+}}[%{{[a-z0-9]+}} x %{{[a-z0-9]+}}] in %{{[a-z0-9]+}}, %{{[a-z0-9]+}} at %{{[a-z0-9]+}} :
  %slices = dist.arriving %g by %f[%n x %n] in %n, %n at %n : !tile.ptr<i32>, !tile.ptr<i64>, i64
  // CHECK: dist.leaving %{{[a-z0-9]+}} by %{{[a-z0-9]+}}[%{{[a-z0-9]+}} x %{{[a-z0-9]+}}] counted : !tile.ptr<i32>, !tile.ptr<i64>
  %5 = dist.leaving %g by %f[%n x %n] counted : !tile.ptr<i32>, !tile.ptr<i64>
  // CHECK: dist.leaving %{{[a-z0-9]+}} by %{{[a-z0-9]+}}[%{{[a-z0-9]+}} x %{{[a-z0-9]+}}] plus %{{[a-z0-9]+}} when %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] : !tile.ptr<i32>, !tile.ptr<i64>, !tile.ptr<i32>, !tile.ptr<i64>
  %summed = dist.leaving %g by %f[%n x %n] plus %g when %f[%n] : !tile.ptr<i32>, !tile.ptr<i64>, !tile.ptr<i32>, !tile.ptr<i64>
  // CHECK: dist.divided %{{[a-z0-9]+}} into 4 : !tile.ptr<i32>
  %divided = dist.divided %g into 4 : !tile.ptr<i32>
  %many = arith.constant 7 : i32
  // CHECK: dist.dealt %{{[a-z0-9]+}} among %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : !tile.ptr<i32>
  %dealt = dist.dealt %g among %many, %many, %many : !tile.ptr<i32>
  // CHECK: dist.spread %{{[a-z0-9]+}} : !tile.ptr<i32>
  %spread = dist.spread %g : !tile.ptr<i32>
  // CHECK: dist.spread %{{[a-z0-9]+}} counted %{{[a-z0-9]+}} : !tile.ptr<i32>, !tile.ptr<i32>
  %tiles = dist.spread %g counted %g : !tile.ptr<i32>, !tile.ptr<i32>
  // CHECK: dist.ordered %{{[a-z0-9]+}} by %{{[a-z0-9]+}} : !tile.ptr<i32>, !tile.ptr<i32>
  %ordered = dist.ordered %g by %g : !tile.ptr<i32>, !tile.ptr<i32>
  // CHECK: dist.call_number %{{[a-z0-9]+}} : i64
  %6 = dist.call_number %n : i64
  // CHECK: dist.notify add intra_node %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<i64>
  dist.notify add intra_node %f, %n on %r : !tile.ptr<i64>
  // CHECK: dist.signal set %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<i64>
  dist.signal set %f, %n on %r : !tile.ptr<i64>
  // CHECK: dist.signal_wait_until %{{[a-z0-9]+}} lt %{{[a-z0-9]+}} : !tile.ptr<i64>
  %3 = dist.signal_wait_until %f lt %n : !tile.ptr<i64>
  return
}
