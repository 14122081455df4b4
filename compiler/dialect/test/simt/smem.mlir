// Round trip of shared-memory buffers.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @smem(%x: tensor<4x32xf16>, %i: i32, %e: f16) {
  // CHECK: simt.smem_alloc -> !tile.smem<4x32xf16>
  %0 = simt.smem_alloc -> !tile.smem<4x32xf16>
  // CHECK: simt.smem_alloc %{{[a-z0-9]+}} : tensor<4x32xf16> -> !tile.smem<4x32xf16>
  %1 = simt.smem_alloc %x : tensor<4x32xf16> -> !tile.smem<4x32xf16>
  // CHECK: simt.smem_read %{{[a-z0-9]+}} : !tile.smem<4x32xf16> -> tensor<4x32xf16>
  %2 = simt.smem_read %0 : !tile.smem<4x32xf16> -> tensor<4x32xf16>
  // CHECK: simt.smem_load %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] : !tile.smem<4x32xf16> -> f16
  %3 = simt.smem_load %0[%i, %i] : !tile.smem<4x32xf16> -> f16
  // CHECK: simt.smem_store %{{[a-z0-9]+}}, %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] : f16, !tile.smem<4x32xf16>
  simt.smem_store %e, %0[%i, %i] : f16, !tile.smem<4x32xf16>
  // CHECK: simt.smem_index %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] : !tile.smem<4x32xf16> -> !tile.smem<32xf16>
  %4 = simt.smem_index %0[%i] : !tile.smem<4x32xf16> -> !tile.smem<32xf16>
  // CHECK: simt.smem_ptr %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] : !tile.smem<4x32xf16> -> !tile.ptr<f16>
  %5 = simt.smem_ptr %0[%i, %i] : !tile.smem<4x32xf16> -> !tile.ptr<f16>
  return
}
