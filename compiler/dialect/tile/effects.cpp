// Memory effects that depend on an op's attributes. A write effect keeps an op where it is, in number and in order.
#include "compiler/dialect/tile/tile.h"

using namespace mlir;

namespace tandem::tile {

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void LoadOp::getEffects(Effects& effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  if (getIsVolatile()) effects.emplace_back(MemoryEffects::Write::get());
}

void InlineAsmOp::getEffects(Effects& effects) {
  if (getPure()) return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

}  // namespace tandem::tile
