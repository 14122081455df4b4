// The kernel language's memory orders and scopes as the emitter has them.
#pragma once
#include "compiler/codegen/gpu/access.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::lower::gpu {

inline codegen::Scope scopeOf(tile::Scope scope) {
  using S = codegen::Scope;
  static constexpr S scopes[] = {S::Block, S::Device, S::System};
  return scopes[static_cast<int>(scope)];
}

// `sc` is acquire and release behind a fence of its own.
inline codegen::Order orderOf(tile::Semantic semantic) {
  using O = codegen::Order;
  static constexpr O orders[] = {O::Relaxed, O::Acquire, O::Release, O::AcquireRelease, O::AcquireRelease};
  return orders[static_cast<int>(semantic)];
}

}  // namespace tandem::lower::gpu
