// MLIR types as the interpreter's element and register types.
#include "compiler/lower/sim/types.h"
#include "compiler/dialect/tile/tile.h"
#include "tandem/element_types.h"
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
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  case bits: return Elem::elem;
    TANDEM_SIGNED_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Elem> elemOf(Type type) {
  using Result = std::optional<Elem>;
  return TypeSwitch<Type, Result>(elementType(type))
      .Case<IntegerType>([](IntegerType t) { return integerElem(t.getWidth()); })
      .Case<IndexType, tile::PtrType>([](auto) { return Elem::I64; })
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  .Case<mlirType##Type>([](auto) { return Elem::elem; })
          TANDEM_FLOAT_TYPES(TANDEM_ROW) TANDEM_FNUZ_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
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
