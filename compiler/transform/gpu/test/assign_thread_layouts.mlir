// RUN: tandem-opt --split-input-file --assign-thread-layouts --verify-diagnostics %s | FileCheck %s
// RUN: tandem-opt --split-input-file --assign-thread-layouts=lanes=64 --verify-diagnostics %s | FileCheck %s --check-prefix=WIDE
// Accesses are coalesced over a warp's lanes, of which a GPU has as many as the option says; a sum has the layout of
// its operands, and a tile that no access reaches a default.

// CHECK-LABEL: func.func @add
// CHECK: tile.load {{.*}}tgpu.layout = [#tgpu.layout<[512], registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>]
// CHECK: arith.addf {{.*}}tgpu.layout = [#tgpu.layout<[512], registers = [1, 2], lanes = [4, 8, 16, 32, 64], warps = [128, 256]>]
// WIDE-LABEL: func.func @add
// WIDE: tile.load {{.*}}tgpu.layout = [#tgpu.layout<[512], registers = [1], lanes = [2, 4, 8, 16, 32, 64], warps = [128, 256]>]
func.func @add(%x: !tile.ptr<f32> {tile.multiple_of = 16 : i32}) attributes {tile.num_warps = 4 : i32} {
  %range = tile.make_range 0 to 512 : tensor<512xi32>
  %base = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %at = tile.addptr %base, %range : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %v = tile.load %at : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
  %s = arith.addf %v, %v : tensor<512xf32>
  tile.store %at, %s : tensor<512x!tile.ptr<f32>>, tensor<512xf32>
  return
}

// A product by multiply-adds gives each thread a patch of rows and columns, each warp 4 patches by a quarter of its lanes.
// CHECK-LABEL: func.func @multiply
// CHECK: tile.dot {{.*}} lanes = [{{[0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+}}],
// WIDE-LABEL: func.func @multiply
// WIDE: tile.dot {{.*}} lanes = [{{[0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+}}],
func.func @multiply(%x: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %a = arith.constant dense<1.0> : tensor<32x16xf32>
  %b = arith.constant dense<1.0> : tensor<16x32xf32>
  %c = arith.constant dense<0.0> : tensor<32x32xf32>
  %r = tile.dot %a, %b, %c : tensor<32x16xf32>, tensor<16x32xf32> -> tensor<32x32xf32>
  %at = tile.splat %x : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  tile.store %at, %r : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  return
}

// -----

// expected-error @+1 {{has a tile as parameter 1; a kernel's parameters are scalars and pointers}}
func.func @takes_a_tile(%x: !tile.ptr<f32>, %v: tensor<8xf32>) attributes {tile.num_warps = 4 : i32} {
  return
}
