// Round trip of the types.
// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s

// CHECK: func.func private @types(!tile.ptr<bf16>, tensor<4x!tile.ptr<!tile.ptr<i8>>>, !tile.smem<4x32xf16>, !tile.smem<8x!tile.ptr<f32>>)
func.func private @types(!tile.ptr<bf16>, tensor<4x!tile.ptr<!tile.ptr<i8>>>, !tile.smem<4x32xf16>, !tile.smem<8x!tile.ptr<f32>>)
