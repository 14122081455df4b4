// Regions of scalars that do not fit their tiles.
// RUN: tandem-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.reduce` axis 2 is outside 0 to 1}}
  %0 = tile.reduce(%x) along 2 : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.reduce` result has type 'tensor<4xf32>' but its source gives 'tensor<8xf32>'}}
  %0 = tile.reduce(%x) along 0 : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.reduce` region takes 1 values, not 2}}
  %0 = tile.reduce(%x) along 0 : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.reduce` region takes 'f16' at position 1, not 'f32'}}
  %0 = tile.reduce(%x) along 0 : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32, %b: f16):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.reduce` region yields 2 values, not 1}}
  %0 = tile.reduce(%x) along 0 : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a, %b : f32, f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.reduce` has 1 sources but 2 results}}
  %0:2 = tile.reduce(%x) along 0 : (tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error @+1 {{`tile.reduce` has sources of shape 4x8 and 8x4}}
  %0:2 = tile.reduce(%x, %y) along 0 : (tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tile.yield %a, %b : f32, f32
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{`tile.reduce` has no sources}}
  tile.reduce() along 0 : () -> () {
  ^bb0:
    tile.yield
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.scan` result has type 'tensor<8x4xf32>' but its source gives 'tensor<4x8xf32>'}}
  %0 = tile.scan(%x) along 0 reverse false : (tensor<4x8xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.map_elementwise` cannot pack 32 elements by 3}}
  %0 = tile.map_elementwise(%x) pack 3 : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32, %c: f32):
    tile.yield %a, %b, %c : f32, f32, f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.map_elementwise` region takes 1 values, not 2}}
  %0 = tile.map_elementwise(%x) pack 2 : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{`tile.map_elementwise` has a source of shape 4x8 and a result of shape 8x4}}
  %0 = tile.map_elementwise(%x) pack 1 : (tensor<4x8xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}
