// RUN: not tandem-null < %s 2>&1 | FileCheck %s
// An op that no lowering of the target is registered for is an error that names both.

// CHECK: error: `tile.inline_asm` is not supported on null
func.func @copy(%x: !tile.ptr<f32>) attributes {tile.num_warps = 4 : i32} {
  %0 = tile.load %x : !tile.ptr<f32> -> f32
  %1 = tile.inline_asm "mov.b32 $0, $1;", "=f,f"(%0) {pack = 1 : i32, pure = true} : (f32) -> f32
  tile.store %x, %1 : !tile.ptr<f32>, f32
  return
}
