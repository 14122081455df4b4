// Round trip of ranks, teams and symmetric addresses.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @rank(%t: i32, %r: i32, %p: !tile.ptr<f32>, %ps: tensor<8x!tile.ptr<f32>>) {
  // CHECK: dist.rank
  %0 = dist.rank
  // CHECK: dist.rank in %{{[a-z0-9]+}}
  %1 = dist.rank in %t
  // CHECK: dist.num_ranks
  %2 = dist.num_ranks
  // CHECK: dist.num_ranks in %{{[a-z0-9]+}}
  %3 = dist.num_ranks in %t
  // CHECK: dist.translate_rank %{{[a-z0-9]+}} from %{{[a-z0-9]+}} to %{{[a-z0-9]+}}
  %4 = dist.translate_rank %r from %t to %t
  // CHECK: dist.symm_at %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<f32>
  %5 = dist.symm_at %p, %r : !tile.ptr<f32>
  // CHECK: dist.symm_at %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<8x!tile.ptr<f32>>
  %6 = dist.symm_at %ps, %r : tensor<8x!tile.ptr<f32>>
  // CHECK: dist.multicast_at %{{[a-z0-9]+}} over %{{[a-z0-9]+}} : !tile.ptr<f32> -> !tile.ptr<f32>
  %7 = dist.multicast_at %p over %t : !tile.ptr<f32> -> !tile.ptr<f32>
  return
}
