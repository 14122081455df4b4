// Memory effects that depend on an op's attributes: a strong load may synchronise (M4), so it is never merged or
// dropped.
#include "compiler/dialect/simt/simt.h"

using namespace mlir;

void tandem::simt::LdOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>& effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  if (!getWeak()) effects.emplace_back(MemoryEffects::Write::get());
}
