// Functions of all three dialects are inlined.
// RUN: tandem-opt %s -inline | FileCheck %s

func.func private @callee(%p: !tile.ptr<f32>, %x: tensor<8xf32>) {
  %r = dist.rank
  %q = dist.symm_at %p, %r : !tile.ptr<f32>
  %s = tile.reduce(%x) along 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tile.yield %sum : f32
  }
  simt.barrier
  tile.store %q, %s : !tile.ptr<f32>, f32
  return
}

// CHECK-LABEL: @caller
// CHECK-NOT: call
// CHECK: dist.rank
// CHECK: tile.reduce
// CHECK: simt.barrier
// CHECK: tile.store
func.func @caller(%p: !tile.ptr<f32>, %x: tensor<8xf32>) {
  func.call @callee(%p, %x) : (!tile.ptr<f32>, tensor<8xf32>) -> ()
  return
}
