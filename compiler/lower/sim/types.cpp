// MLIR types as the interpreter's element and register types.
#include "compiler/lower/sim/types.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <limits>

namespace tandem::lower {
using namespace mlir;
using interpreter::Elem;
using interpreter::Extent;
using interpreter::RegisterType;
namespace {

Type elementType(Type type) {
  if (auto smem = dyn_cast<tile::SmemType>(type)) return smem.getElementType();
  return getElementTypeOrSelf(type);
}

std::optional<Elem> integerElem(unsigned width) {
  switch (width) {
    case 1: return Elem::I1;
    case 8: return Elem::I8;
    case 16: return Elem::I16;
    case 32: return Elem::I32;
    case 64: return Elem::I64;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Elem> elemOf(Type type) {
  using Result = std::optional<Elem>;
  return TypeSwitch<Type, Result>(elementType(type))
      .Case<IntegerType>([](IntegerType t) { return integerElem(t.getWidth()); })
      .Case<IndexType, tile::PtrType>([](auto) { return Elem::I64; })
      .Case<Float8E4M3FNType>([](auto) { return Elem::F8E4M3FN; })
      .Case<Float8E5M2Type>([](auto) { return Elem::F8E5M2; })
      .Case<Float8E4M3FNUZType>([](auto) { return Elem::F8E4M3FNUZ; })
      .Case<Float8E5M2FNUZType>([](auto) { return Elem::F8E5M2FNUZ; })
      .Case<Float16Type>([](auto) { return Elem::F16; })
      .Case<BFloat16Type>([](auto) { return Elem::BF16; })
      .Case<Float32Type>([](auto) { return Elem::F32; })
      .Case<Float64Type>([](auto) { return Elem::F64; })
      .Default([](Type) { return std::nullopt; });
}

bool isTile(Type type) { return isa<RankedTensorType>(type); }
bool isTileOrBuffer(Type type) { return isTile(type) || isa<tile::SmemType>(type); }

std::optional<RegisterType> registerTypeOf(Type type, bool lanes) {
  std::optional<Elem> elem = elemOf(type);
  if (!elem) return std::nullopt;
  RegisterType result;
  result.elem = *elem;
  result.extent = lanes ? Extent::Lanes : Extent::Uniform;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (!tensor.hasStaticShape()) return std::nullopt;
    result.extent = Extent::Tile;
    result.shape = tensor.getShape().vec();
  } else if (auto smem = dyn_cast<tile::SmemType>(type)) {
    result.extent = Extent::Smem;
    result.shape = smem.getShape().vec();
  } else if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.isScalable() || vector.getNumElements() > std::numeric_limits<uint16_t>::max()) return std::nullopt;
    result.vectorLength = vector.getNumElements();
  } else if (!type.isIntOrIndexOrFloat() && !isa<tile::PtrType>(type)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace tandem::lower
