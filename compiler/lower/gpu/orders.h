// The kernel language's memory orders and scopes as PTX has them.
#pragma once
#include "compiler/codegen/nvidia/asm/memory.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::lower::nvidia {

inline codegen::ptx::Scope scopeOf(tile::Scope scope) {
  using S = codegen::ptx::Scope;
  static constexpr S scopes[] = {S::Block, S::Device, S::System};
  return scopes[static_cast<int>(scope)];
}

// `sc` is acquire and release behind a fence of its own.
inline codegen::ptx::Order orderOf(tile::Semantic semantic) {
  using O = codegen::ptx::Order;
  static constexpr O orders[] = {O::Relaxed, O::Acquire, O::Release, O::AcquireRelease, O::AcquireRelease};
  return orders[static_cast<int>(semantic)];
}

}  // namespace tandem::lower::nvidia
