// RUN: tandem-opt --load-before-branch %s | FileCheck %s
// A branch that waits for a flag: what it loads, and is stored to behind it in any case, is loaded meanwhile.

// CHECK-LABEL: func.func @sums
// CHECK: %[[FLAG:.*]] = tile.load %{{.*}} -> i32
// CHECK: arith.cmpi
// CHECK: %[[OLD:.*]] = tile.load {{.*}} mask
// CHECK: scf.if
// CHECK: tile.atomic_rmw
// CHECK: else
// CHECK-NOT: tile.load
// CHECK: arith.addf %{{.*}}, %[[OLD]]
func.func @sums(%flag: !tile.ptr<i32>, %p: tensor<256x!tile.ptr<f32>>, %mask: tensor<256xi1>, %new: tensor<256xf32>) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %count = tile.load %flag : !tile.ptr<i32> -> i32
  %first = arith.cmpi eq, %count, %zero : i32
  %sum = scf.if %first -> tensor<256xf32> {
    %was = tile.atomic_rmw xchg acq_rel gpu %flag, %one : !tile.ptr<i32>, i32 -> i32
    scf.yield %new : tensor<256xf32>
  } else {
    %old = tile.load %p mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
    %both = arith.addf %new, %old : tensor<256xf32>
    scf.yield %both : tensor<256xf32>
  }
  tile.store %p, %sum mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}

// Memory under another mask, memory that nothing else touches, loads behind an update: they stay. So do those of a branch that waits for
// nothing.
// CHECK-LABEL: func.func @stay
// CHECK: scf.if
// CHECK-COUNT-3: tile.load
// CHECK: scf.if
// CHECK-NEXT: tile.load
func.func @stay(%flag: !tile.ptr<i32>, %p: tensor<256x!tile.ptr<f32>>, %q: tensor<256x!tile.ptr<f32>>, %mask: tensor<256xi1>, %new: tensor<256xf32>, %n: i32) attributes {tile.num_warps = 4 : i32} {
  %zero = arith.constant 0 : i32
  %count = tile.load %flag : !tile.ptr<i32> -> i32
  %first = arith.cmpi eq, %count, %zero : i32
  %sum = scf.if %first -> tensor<256xf32> {
    %other = tile.load %q : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
    %all = tile.load %p : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
    %was = tile.atomic_rmw xchg acq_rel gpu %flag, %n : !tile.ptr<i32>, i32 -> i32
    %behind = tile.load %p mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
    %a = arith.addf %other, %all : tensor<256xf32>
    %b = arith.addf %a, %behind : tensor<256xf32>
    scf.yield %b : tensor<256xf32>
  } else {
    scf.yield %new : tensor<256xf32>
  }
  tile.store %p, %sum mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  %known = arith.cmpi eq, %n, %zero : i32
  %more = scf.if %known -> tensor<256xf32> {
    %old = tile.load %p mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
    scf.yield %old : tensor<256xf32>
  } else {
    scf.yield %new : tensor<256xf32>
  }
  tile.store %p, %more mask %mask : tensor<256xi1> : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
}
