// Round trip of puts, gets and what orders them.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @put(%p: !tile.ptr<f32>, %n: i64, %r: i32, %x: f32, %f: !tile.ptr<i64>) {
  // CHECK: dist.put thread %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<f32>, !tile.ptr<f32>
  dist.put thread %p, %p, %n on %r : !tile.ptr<f32>, !tile.ptr<f32>
  // CHECK: dist.put block nbi %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<f32>, !tile.ptr<f32>
  dist.put block nbi %p, %p, %n on %r : !tile.ptr<f32>, !tile.ptr<f32>
  // CHECK: dist.get warp nbi %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<f32>, !tile.ptr<f32>
  dist.get warp nbi %p, %p, %n on %r : !tile.ptr<f32>, !tile.ptr<f32>
  // CHECK: dist.put_value %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<f32>, f32
  dist.put_value %p, %x on %r : !tile.ptr<f32>, f32
  // CHECK: dist.put_signal block nbi %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} then set %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<i64>
  dist.put_signal block nbi %p, %p, %n then set %f, %n on %r : !tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<i64>
  // CHECK: dist.put_signal thread %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} then add %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on %{{[a-z0-9]+}} : !tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<i64>
  dist.put_signal thread %p, %p, %n then add %f, %n on %r : !tile.ptr<f32>, !tile.ptr<f32>, !tile.ptr<i64>
  // CHECK: dist.fence{{$}}
  dist.fence
  // CHECK: dist.fence on %{{[a-z0-9]+}}
  dist.fence on %r
  // CHECK: dist.quiet
  dist.quiet
  // CHECK: dist.quiet on %{{[a-z0-9]+}}
  dist.quiet on %r
  return
}
