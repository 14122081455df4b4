// Blocks whose parts do not fit.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.block_load` block has rank 2 but there are 2 sizes, 1 strides and 2 offsets}}
  %0 = tile.block_load %p shape(%n, %n) strides(%n) at(%o, %o) check [] : !tile.ptr<f16> -> tensor<16x32xf16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.block_load` axis 2 is outside 0 to 1}}
  %0 = tile.block_load %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [2] : !tile.ptr<f16> -> tensor<16x32xf16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.block_load` checks dimension 0 twice}}
  %0 = tile.block_load %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [0, 0] : !tile.ptr<f16> -> tensor<16x32xf16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.block_load` block has elements of type 'f32' but its base points to 'f16'}}
  %0 = tile.block_load %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [] : !tile.ptr<f16> -> tensor<16x32xf32>
  return
}

// -----

func.func @f(%p: !tile.ptr<i16>, %n: i64, %o: i32) {
  // expected-error @+1 {{`tile.block_load` cannot pad elements of type 'i16' with NaN}}
  %0 = tile.block_load %p shape(%n) strides(%n) at(%o) check [0] {padding = #tile<padding nan>} : !tile.ptr<i16> -> tensor<16xi16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.block_store` block has rank 2 but there are 1 sizes, 1 strides and 1 offsets}}
  tile.block_store %x, %p shape(%n) strides(%n) at(%o) check [] : tensor<16x32xf16>, !tile.ptr<f16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.block_store` cannot reduce with `xchg`}}
  tile.block_store %x, %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [] reduce xchg : tensor<16x32xf16>, !tile.ptr<f16>
  return
}

// -----

func.func @f(%p: !tile.ptr<f16>, %n: i64, %o: i32, %x: tensor<16x32xf16>) {
  // expected-error @+1 {{`tile.block_store` cannot do atomic `and` on elements of type 'f16'}}
  tile.block_store %x, %p shape(%n, %n) strides(%n, %n) at(%o, %o) check [] reduce and : tensor<16x32xf16>, !tile.ptr<f16>
  return
}
