// Round trip of loads, stores and atomics.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @memory(%p: !tile.ptr<f32>, %ps: tensor<8x!tile.ptr<f32>>, %m: tensor<8xi1>, %x: tensor<8xf32>, %s: f32,
                  %q: !tile.ptr<i32>, %i: i32, %b: i1) {
  // CHECK: tile.load %{{[a-z0-9]+}} : !tile.ptr<f32> -> f32
  %0 = tile.load %p : !tile.ptr<f32> -> f32
  // CHECK: tile.load %{{[a-z0-9]+}} mask %{{[a-z0-9]+}} : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %1 = tile.load %ps mask %m : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  // CHECK: tile.load %{{[a-z0-9]+}} mask %{{[a-z0-9]+}} : tensor<8xi1> other %{{[a-z0-9]+}} : tensor<8xf32> {cache = #tile<cache cg>, evict = #tile<evict evict_last>, isVolatile} : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %2 = tile.load %ps mask %m : tensor<8xi1> other %x : tensor<8xf32> {cache = #tile<cache cg>, evict = #tile<evict evict_last>, isVolatile} : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  // CHECK: tile.store %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<f32>, f32
  tile.store %p, %s : !tile.ptr<f32>, f32
  // CHECK: tile.store %{{[a-z0-9]+}}, %{{[a-z0-9]+}} mask %{{[a-z0-9]+}} : tensor<8xi1> {cache = #tile<cache wt>} : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  tile.store %ps, %x mask %m : tensor<8xi1> {cache = #tile<cache wt>} : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  // CHECK: tile.atomic_rmw fadd acq_rel gpu %{{[a-z0-9]+}}, %{{[a-z0-9]+}} mask %{{[a-z0-9]+}} : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  %3 = tile.atomic_rmw fadd acq_rel gpu %ps, %x mask %m : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  // CHECK: tile.atomic_rmw umax relaxed sys %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i32>, i32 -> i32
  %4 = tile.atomic_rmw umax relaxed sys %q, %i : !tile.ptr<i32>, i32 -> i32
  // CHECK: tile.atomic_cas release cta %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i32>, i32
  %5 = tile.atomic_cas release cta %q, %i, %i : !tile.ptr<i32>, i32
  return
}
