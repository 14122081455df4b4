// Accesses get layouts in which each thread has as many neighbours as one instruction moves; ops between them keep these.
// RUN: tandem-opt --assign-layouts=target=sm_90a %s | FileCheck %s

// Four elements of 4 bytes are 16 bytes; of half as wide ones a thread has eight.
// CHECK-LABEL: func.func @copies
// CHECK: tile.load {{.*}}registers = [1, 2, 128], lanes = [4, 8, 16, 32, 64]{{.*}}tgpu.vector = array<i32: 4, 0>
// CHECK: arith.addf {{.*}}registers = [1, 2, 128], lanes = [4, 8, 16, 32, 64]
// CHECK-NOT: convert_layout
// CHECK: tile.store {{.*}}tgpu.vector = array<i32: 4, 0>
func.func @copies(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}, %y: !tile.ptr<f32> {tile.multiple_of = 16 : i32})
    attributes {tile.num_warps = 1 : i32} {
  %i = tile.make_range 0 to 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %from = tile.addptr %xs, %i : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %to = tile.addptr %ys, %i : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %v = tile.load %from : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
  %w = arith.addf %v, %v : tensor<256xf32>
  tile.store %to, %w : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}

// CHECK-LABEL: func.func @narrow
// CHECK: tile.load {{.*}}registers = [1, 2, 4], lanes = [8, 16, 32, 64, 128]{{.*}}tgpu.vector = array<i32: 8, 0>
func.func @narrow(%x: !tile.ptr<f16> {tile.multiple_of = 16 : i32}, %y: !tile.ptr<f16> {tile.multiple_of = 16 : i32})
    attributes {tile.num_warps = 1 : i32} {
  %i = tile.make_range 0 to 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<256x!tile.ptr<f16>>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<256x!tile.ptr<f16>>
  %from = tile.addptr %xs, %i : tensor<256x!tile.ptr<f16>>, tensor<256xi32>
  %to = tile.addptr %ys, %i : tensor<256x!tile.ptr<f16>>, tensor<256xi32>
  %v = tile.load %from : tensor<256x!tile.ptr<f16>> -> tensor<256xf16>
  tile.store %to, %v : tensor<256x!tile.ptr<f16>>, tensor<256xf16>
  return
}
