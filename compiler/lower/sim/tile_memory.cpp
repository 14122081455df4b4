// tile ops that read and write memory, and those that print and check.
#include "compiler/dialect/tile/tile.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/types.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

int64_t bitMask(ArrayRef<int32_t> dimensions) {
  int64_t mask = 0;
  for (int32_t d : dimensions)
    if (d >= 0 && d < 63) mask |= int64_t(1) << d;
  return mask;
}

SmallVector<Value> concat(std::initializer_list<ValueRange> parts) {
  SmallVector<Value> all;
  for (ValueRange part : parts) all.append(part.begin(), part.end());
  return all;
}

int64_t number(auto value) { return static_cast<int64_t>(value); }

}  // namespace

bool FunctionLowering::lowerTileMemory(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::LoadOp>([&](auto o) {
        Elem kind = elemOf(o.getType()).value_or(Elem::I32);
        return emitValues(o, {Op::Load, 0, kind}, {o.getPointer(), o.getMask(), o.getOther()},
                          imm::Load{.isVolatile = o.getIsVolatile()}),
               true;
      })
      .Case<tile::StoreOp>([&](auto o) {
        return emitValues(o, {Op::Store, 0, elem(o.getValue())}, {o.getPointer(), o.getValue(), o.getMask()}), true;
      })
      .Case<tile::BlockLoadOp>([&](auto o) {
        Elem kind = elemOf(o.getType()).value_or(Elem::I32);
        emitPlain(o, {Op::BlockLoad, 0, kind},
                  imm::BlockLoad{.rank = number(o.getOffsets().size()),
                                 .padding = number(o.getPadding()),
                                 .checked = bitMask(o.getBoundaryCheck()),
                                 .isDescriptor = o.getDescriptor()});
        return true;
      })
      .Case<tile::BlockStoreOp>([&](auto o) {
        SmallVector<Value> operands = concat({o.getBase(), o.getValue(), o.getShape(), o.getStrides(), o.getOffsets()});
        int64_t reduce = o.getReduce() ? number(*o.getReduce()) : -1;
        emitValues(o, {Op::BlockStore, 0, elem(o.getValue())}, operands,
                   imm::BlockStore{.rank = number(o.getOffsets().size()),
                                   .checked = bitMask(o.getBoundaryCheck()),
                                   .rmw = reduce,
                                   .isDescriptor = o.getDescriptor()});
        return true;
      })
      .Case<tile::AtomicRmwOp>([&](auto o) {
        bool perThread = divergence_.anyLanes(o->getOperands()) || divergence_.isDivergent(o);
        emitValues(
            o, {Op::AtomicRmw, static_cast<uint8_t>(o.getRmw()), elem(o.getValue())},
            {o.getPointer(), o.getValue(), o.getMask()},
            imm::AtomicRmw{.semantic = number(o.getSem()), .scope = number(o.getScope()), .perThread = perThread});
        return true;
      })
      .Case<tile::AtomicCasOp>([&](auto o) {
        bool perThread = divergence_.anyLanes(o->getOperands()) || divergence_.isDivergent(o);
        emitPlain(
            o, {Op::AtomicCas, 0, elem(o.getValue())},
            imm::AtomicCas{.semantic = number(o.getSem()), .scope = number(o.getScope()), .perThread = perThread});
        return true;
      })
      .Default([](Operation*) { return false; });
}

bool FunctionLowering::lowerTileDebug(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::PrintOp>([&](auto o) {
        SmallVector<int64_t> immediates{build_.string(o.getPrefix()), o.getHex()};
        ArrayRef<bool> isSigned = o.getIsSigned();
        for (auto [value, isSignedValue] : llvm::zip_equal(o.getValues(), isSigned))
          immediates.push_back(isa<tile::PtrType>(getElementTypeOrSelf(value)) ? 2 : isSignedValue);
        build_.emit({Op::Print}, useAll(o.getValues()), {}, immediates);
        return true;
      })
      .Case<tile::AssertOp>([&](auto o) {
        return emitValues(o, {Op::Assert, 0, Elem::I1}, {o.getCondition(), o.getMask()},
                          imm::Assert{.message = build_.string(o.getMessage())}),
               true;
      })
      .Case<tile::AssumeOp>([&](auto o) {
        if (matchPattern(o.getCondition(), m_One())) return true;
        return emitPlain(o, {Op::Assume, 0, Elem::I1}), true;
      })
      .Default([](Operation*) { return false; });
}

}  // namespace tandem::lower
