// Types that cannot be.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{`!tile.smem` has more than 16777216 elements}}
func.func private @f(!tile.smem<9223372036854775807x2xf32>)

// -----

// expected-error @+1 {{`!tile.smem` has no dimensions}}
func.func private @f(!tile.smem<f16>)

// -----

// expected-error @+1 {{`!tile.smem` has a dimension of size 0}}
func.func private @f(!tile.smem<0xf16>)

// -----

// expected-error @+1 {{`!tile.smem` has elements of type 'index', not a number or a pointer}}
func.func private @f(!tile.smem<4xindex>)

// -----

// expected-error @+1 {{`!tile.ptr` points to 'tensor<4xf32>', not to a number or a pointer}}
func.func private @f(!tile.ptr<tensor<4xf32>>)
