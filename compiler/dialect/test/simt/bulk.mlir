// Round trip of mbarriers, bulk copies, tensor maps and proxy fences.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @mbarriers(%b: !tile.ptr<i64>, %n: i32) {
  // CHECK: simt.mbarrier_init %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i64>
  simt.mbarrier_init %b, %n : !tile.ptr<i64>
  // CHECK: simt.mbarrier_arrive %{{[a-z0-9]+}} : !tile.ptr<i64>
  simt.mbarrier_arrive %b : !tile.ptr<i64>
  // CHECK: simt.mbarrier_arrive %{{[a-z0-9]+}} expect %{{[a-z0-9]+}} : !tile.ptr<i64>
  simt.mbarrier_arrive %b expect %n : !tile.ptr<i64>
  // CHECK: simt.mbarrier_expect %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i64>
  simt.mbarrier_expect %b, %n : !tile.ptr<i64>
  // CHECK: simt.mbarrier_try_wait %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i64>
  %0 = simt.mbarrier_try_wait %b, %n : !tile.ptr<i64>
  // CHECK: simt.mbarrier_wait %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i64>
  simt.mbarrier_wait %b, %n : !tile.ptr<i64>
  // CHECK: simt.mbarrier_invalidate %{{[a-z0-9]+}} : !tile.ptr<i64>
  simt.mbarrier_invalidate %b : !tile.ptr<i64>
  return
}

func.func @copies(%m: !tile.ptr<i8>, %g: !tile.ptr<f16>, %s: !tile.ptr<f16>, %b: !tile.ptr<i64>, %i: i32) {
  // CHECK: simt.tma_load %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] to %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i8>, !tile.ptr<f16>, !tile.ptr<i64>
  simt.tma_load %m[%i, %i] to %s, %b : !tile.ptr<i8>, !tile.ptr<f16>, !tile.ptr<i64>
  // CHECK: simt.tma_store %{{[a-z0-9]+}} to %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] : !tile.ptr<f16>, !tile.ptr<i8>
  simt.tma_store %s to %m[%i, %i] : !tile.ptr<f16>, !tile.ptr<i8>
  // CHECK: simt.bulk_load %{{[a-z0-9]+}} to %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<f16>, !tile.ptr<f16>, !tile.ptr<i64>
  simt.bulk_load %g to %s, %i, %b : !tile.ptr<f16>, !tile.ptr<f16>, !tile.ptr<i64>
  // CHECK: simt.bulk_store %{{[a-z0-9]+}} to %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<f16>, !tile.ptr<f16>
  simt.bulk_store %s to %g, %i : !tile.ptr<f16>, !tile.ptr<f16>
  // CHECK: simt.bulk_commit
  simt.bulk_commit
  // CHECK: simt.bulk_wait 1
  simt.bulk_wait 1
  // CHECK: simt.bulk_wait 0 read
  simt.bulk_wait 0 read
  // CHECK: simt.copy_async %{{[a-z0-9]+}} to %{{[a-z0-9]+}}, 16 : !tile.ptr<f16>, !tile.ptr<f16>
  simt.copy_async %g to %s, 16 : !tile.ptr<f16>, !tile.ptr<f16>
  // CHECK: simt.copy_async %{{[a-z0-9]+}} to %{{[a-z0-9]+}}, 8 read %{{[a-z0-9]+}} : !tile.ptr<f16>, !tile.ptr<f16>
  simt.copy_async %g to %s, 8 read %i : !tile.ptr<f16>, !tile.ptr<f16>
  // CHECK: simt.copy_commit
  simt.copy_commit
  // CHECK: simt.copy_wait 3
  simt.copy_wait 3
  return
}

func.func @maps(%m: !tile.ptr<i8>, %s: !tile.ptr<i32>, %i: i32, %l: i64) {
  // CHECK: simt.tensormap_replace global_address 0 %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i32>, i64
  simt.tensormap_replace global_address 0 %s, %l : !tile.ptr<i32>, i64
  // CHECK: simt.tensormap_replace box_dim 4 %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i32>, i32
  simt.tensormap_replace box_dim 4 %s, %i : !tile.ptr<i32>, i32
  // CHECK: simt.tensormap_publish %{{[a-z0-9]+}} to %{{[a-z0-9]+}} : !tile.ptr<i32>, !tile.ptr<i8>
  simt.tensormap_publish %s to %m : !tile.ptr<i32>, !tile.ptr<i8>
  // CHECK: simt.tensormap_prefetch %{{[a-z0-9]+}} : !tile.ptr<i8>
  simt.tensormap_prefetch %m : !tile.ptr<i8>
  // CHECK: simt.tensormap_prefetch %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] : !tile.ptr<i8>
  simt.tensormap_prefetch %m[%i, %i] : !tile.ptr<i8>
  // CHECK: simt.proxy_fence async
  simt.proxy_fence async
  // CHECK: simt.proxy_fence async_shared
  simt.proxy_fence async_shared
  // CHECK: simt.proxy_fence mbarrier_init
  simt.proxy_fence mbarrier_init
  // CHECK: simt.proxy_fence tensormap_acquire %{{[a-z0-9]+}} : !tile.ptr<i8>
  simt.proxy_fence tensormap_acquire %m : !tile.ptr<i8>
  return
}

func.func @places(%i: i32) {
  // CHECK: simt.smem_at %{{[a-z0-9]+}} -> !tile.ptr<i8>
  %0 = simt.smem_at %i -> !tile.ptr<i8>
  // CHECK: simt.dynamic_smem -> !tile.ptr<i8>
  %1 = simt.dynamic_smem -> !tile.ptr<i8>
  // CHECK: simt.smem_alloc {swizzle = array<i32: 8, 1, 8>} -> !tile.smem<4x64xf16>
  %2 = simt.smem_alloc {swizzle = array<i32: 8, 1, 8>} -> !tile.smem<4x64xf16>
  // CHECK: simt.grid_barrier
  simt.grid_barrier
  return
}
