// Round trip of barriers and collectives.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @barrier(%t: i32, %p: !tile.ptr<i8>, %n: i64) {
  // CHECK: dist.barrier block %{{[a-z0-9]+}}
  dist.barrier block %t
  // CHECK: dist.barrier thread sync %{{[a-z0-9]+}}
  dist.barrier thread sync %t
  // CHECK: dist.broadcast block %{{[a-z0-9]+}} %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} from %{{[a-z0-9]+}} : !tile.ptr<i8>, !tile.ptr<i8>
  dist.broadcast block %t %p, %p, %n from %t : !tile.ptr<i8>, !tile.ptr<i8>
  // CHECK: dist.broadcast warp barrier typed "uint32" %{{[a-z0-9]+}}
  dist.broadcast warp barrier typed "uint32" %t %p, %p, %n from %t : !tile.ptr<i8>, !tile.ptr<i8>
  // CHECK: dist.fcollect thread barrier %{{[a-z0-9]+}}
  dist.fcollect thread barrier %t %p, %p, %n : !tile.ptr<i8>, !tile.ptr<i8>
  // CHECK: dist.fcollect warp %{{[a-z0-9]+}} %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : !tile.ptr<i8>, !tile.ptr<i8>
  dist.fcollect warp %t %p, %p, %n : !tile.ptr<i8>, !tile.ptr<i8>
  return
}
