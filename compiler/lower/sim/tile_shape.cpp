// tile ops that make, reshape and convert tiles without touching memory, and products.
#include "compiler/dialect/tile/tile.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/types.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;

void FunctionLowering::emitValues(Operation* op, Code code, ArrayRef<Value> operands, ArrayRef<int64_t> immediates) {
  Registers registers = useAlike(operands);
  Registers results = defineAll(op->getResults());
  build_.emit(code, registers, results, immediates);
}

void FunctionLowering::emitPlain(Operation* op, Code code, ArrayRef<int64_t> immediates) {
  emitValues(op, code, llvm::to_vector(op->getOperands()), immediates);
}

bool FunctionLowering::lowerTileShape(Operation* op) {
  auto plain = [&](Op code, Elem elem, ArrayRef<int64_t> immediates = {}) {
    return emitPlain(op, {code, 0, elem}, immediates), true;
  };
  auto ofFirst = [&](Op code, ArrayRef<int64_t> immediates = {}) {
    return plain(code, elem(op->getOperand(0)), immediates);
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::ProgramIdOp>(
          [&](auto o) { return plain(Op::ProgramId, Elem::I32, imm::ProgramId{.axis = o.getAxis()}); })
      .Case<tile::NumProgramsOp>(
          [&](auto o) { return plain(Op::NumPrograms, Elem::I32, imm::NumPrograms{.axis = o.getAxis()}); })
      .Case<tile::MakeRangeOp>([&](auto o) {
        std::optional<Elem> kind = elemOf(o.getType());
        return plain(Op::MakeRange, kind.value_or(Elem::I32),
                     imm::MakeRange{.start = static_cast<int32_t>(o.getStart())});
      })
      .Case<tile::ExpandDimsOp, tile::ReshapeOp>([&](auto) { return ofFirst(Op::Reshape); })
      .Case<tile::PermuteOp>([&](auto o) {
        SmallVector<int64_t> order(o.getOrder().begin(), o.getOrder().end());
        return ofFirst(Op::Permute, order);
      })
      .Case<tile::GatherOp>([&](auto o) { return ofFirst(Op::Gather, imm::Gather{.axis = o.getAxis()}); })
      .Case<tile::HistogramOp>([&](auto o) {
        return emitValues(o, {Op::Histogram, 0, elem(o.getSource())}, {o.getSource(), o.getMask()}), true;
      })
      .Case<tile::DotOp>(
          [&](auto o) { return ofFirst(Op::Dot, imm::Dot{.precision = static_cast<int64_t>(o.getPrecision())}); })
      .Case<tile::DotScaledOp>([&](auto o) {
        emitValues(o, {Op::DotScaled, 0, elem(o.getLhs())},
                   {o.getLhs(), o.getLhsScale(), o.getRhs(), o.getRhsScale(), o.getAcc()},
                   imm::DotScaled{.lhsFormat = static_cast<int64_t>(o.getLhsFormat()),
                                  .rhsFormat = static_cast<int64_t>(o.getRhsFormat()),
                                  .lhsPackedAlongK = o.getLhsKPack(),
                                  .rhsPackedAlongK = o.getRhsKPack()});
        return true;
      })
      .Default([](Operation*) { return false; });
}

bool FunctionLowering::lowerTilePointer(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::AddPtrOp>([&](auto o) { return lowerAddPtr(o), true; })
      .Case<tile::PtrToIntOp, tile::IntToPtrOp>([&](auto o) {
        if (elemOf(o.getType()) != elemOf(o.getSource().getType())) failUnsupported(o);
        return alias(o.getResult(), use(o.getSource())), true;
      })
      .Case<tile::BitcastOp>([&](auto o) { return convert(o, ConvertOp::Bitcast), true; })
      .Case<tile::FpToFpOp>([&](auto o) {
        return convert(o, o.getRounding() == tile::Rounding::Rtz ? ConvertOp::FToFRtz : ConvertOp::FToF), true;
      })
      .Case<tile::ExternElementwiseOp>([&](auto o) {
        Elem kind = o->getNumOperands() ? elem(o->getOperand(0)) : elemOf(o.getType()).value_or(Elem::I32);
        return emitPlain(o, {Op::Extern, 0, kind}, imm::Extern{.symbol = build_.string(o.getSymbol())}), true;
      })
      .Case<tile::InlineAsmOp>([&](auto o) { return lowerInlineAsm(o), true; })
      .Default([](Operation*) { return false; });
}

// Offsets narrower than 32 bits are widened first.
void FunctionLowering::lowerAddPtr(Operation* op) {
  auto add = cast<tile::AddPtrOp>(op);
  std::optional<Elem> pointee =
      elemOf(cast<tile::PtrType>(getElementTypeOrSelf(add.getPointer().getType())).getPointee());
  if (!pointee) failUnsupported(op);
  Registers operands = useAlike({add.getPointer(), add.getOffset()});
  RegisterType type = build_.type(operands[1]);
  if (byteSize(type.elem) < 4) {
    Elem narrow = std::exchange(type.elem, Elem::I32);
    Register wide = build_.newRegister(type);
    build_.emit({Op::Convert, static_cast<uint8_t>(ConvertOp::ExtS), narrow}, {operands[1]}, {wide});
    operands[1] = wide;
  }
  Register result = define(add.getResult());
  build_.emit({Op::AddPtr, 0, type.elem}, operands, {result}, imm::AddPtr{.bytes = byteSize(*pointee)});
}

}  // namespace tandem::lower
