// A file as a failure inside a pass leaves it: tandem-opt runs what it names, and fails alike.
// RUN: not tandem-opt --run-reproducer %s 2>&1 | FileCheck %s
// CHECK: error: `num_ctas` must be a power of two up to 8, but is 3
module {
  func.func @f() attributes {tile.num_warps = 4 : i32} {
    return
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(canonicalize,cse,limit-size,split-program{blocks=3 target=sm_90a}))",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
