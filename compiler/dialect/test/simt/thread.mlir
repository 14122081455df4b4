// Round trip of thread indices, barriers and lane exchange.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

func.func @thread(%m: i32, %x: f32, %l: i32, %c: i1) {
  // CHECK: simt.tid 0
  %0 = simt.tid 0
  // CHECK: simt.ntid 0
  %1 = simt.ntid 0
  // CHECK: simt.special smid : i32
  %2 = simt.special smid : i32
  // CHECK: simt.special globaltimer : i64
  %3 = simt.special globaltimer : i64
  // CHECK: simt.barrier
  simt.barrier
  // CHECK: simt.named_barrier 1 of 128
  simt.named_barrier 1 of 128
  // CHECK: simt.named_barrier 2 of 64 arrive
  simt.named_barrier 2 of 64 arrive
  // CHECK: simt.warp_barrier
  simt.warp_barrier
  // CHECK: simt.fence acq_rel gpu
  simt.fence acq_rel gpu
  // CHECK: simt.shuffle xor %{{[a-z0-9]+}}, %{{[a-z0-9]+}} mask %{{[a-z0-9]+}} : f32 -> f32
  %4 = simt.shuffle xor %x, %l mask %m : f32 -> f32
  // CHECK: simt.ballot %{{[a-z0-9]+}} mask %{{[a-z0-9]+}}
  %5 = simt.ballot %c mask %m
  // CHECK: simt.elect
  %6 = simt.elect
  return
}
