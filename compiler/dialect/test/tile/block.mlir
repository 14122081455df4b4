// Round trip of block accesses.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @block(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // CHECK: tile.block_load %{{[a-z0-9]+}} shape(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) strides(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) at(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) check [0, 1] : !tile.ptr<f16> -> tensor<16x32xf16>
  %0 = tile.block_load %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [0, 1] : !tile.ptr<f16> -> tensor<16x32xf16>
  // CHECK: tile.block_load %{{[a-z0-9]+}} shape(%{{[a-z0-9]+}}) strides(%{{[a-z0-9]+}}) at(%{{[a-z0-9]+}}) check [] {descriptor, evict = #tile<evict evict_first>, padding = #tile<padding nan>} : !tile.ptr<f16> -> tensor<32xf16>
  %1 = tile.block_load %p shape(%n) strides(%n) at(%o) check [] {descriptor, evict = #tile<evict evict_first>, padding = #tile<padding nan>} : !tile.ptr<f16> -> tensor<32xf16>
  // CHECK: tile.block_store %{{[a-z0-9]+}}, %{{[a-z0-9]+}} shape(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) strides(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) at(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) check [1] : tensor<16x32xf16>, !tile.ptr<f16>
  tile.block_store %x, %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [1] : tensor<16x32xf16>, !tile.ptr<f16>
  // CHECK: tile.block_store %{{[a-z0-9]+}}, %{{[a-z0-9]+}} shape(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) strides(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) at(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) check [0, 1] reduce fadd {descriptor} : tensor<16x32xf16>, !tile.ptr<f16>
  tile.block_store %x, %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [0, 1] reduce fadd {descriptor} : tensor<16x32xf16>, !tile.ptr<f16>
  return
}
