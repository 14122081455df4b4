// SSA values as registers. A value has one register for its whole life; a scalar is spread over the threads where it is
// needed so.
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/types.h"
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Matchers.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;

RegisterType FunctionLowering::registerType(Value value, mlir::Location loc) {
  if (std::optional<RegisterType> type = registerTypeOf(value.getType(), divergence_.isLanes(value))) return *type;
  std::string text;
  llvm::raw_string_ostream(text) << value.getType();
  locations_.fail(loc, "unsupported", "the simulator has no type `" + text + "`");
}

Elem FunctionLowering::elem(Value value) { return build_.type(use(value)).elem; }

Register FunctionLowering::define(Value value) {
  RegisterType type = registerType(value, value.getLoc());
  if (type.extent == Extent::Lanes && !combine_) program_.perThread = true;
  Register reg = build_.newRegister(std::move(type));
  registers_[value] = reg;
  return reg;
}

Register FunctionLowering::useLanes(Value value) {
  Register reg = use(value);
  if (build_.type(reg).extent != Extent::Uniform) return reg;
  if (auto constantOp = value.getDefiningOp<arith::ConstantOp>()) {
    APInt bits;
    if (matchPattern(constantOp.getValue(), m_ConstantInt(&bits)) && bits.getBitWidth() <= 64) {
      RegisterType type = build_.type(reg);
      type.extent = Extent::Lanes;
      return constant(type, bits.getZExtValue());
    }
  }
  return splatToLanes(reg);
}

Registers FunctionLowering::useAll(ValueRange values) {
  return llvm::map_to_vector<4>(values, [&](Value v) { return use(v); });
}

Registers FunctionLowering::useAllLanes(ValueRange values) {
  return llvm::map_to_vector<4>(values, [&](Value v) { return useLanes(v); });
}

Registers FunctionLowering::useAlike(ArrayRef<Value> values) {
  bool lanes = llvm::any_of(values, [&](Value v) { return v && divergence_.isLanes(v); });
  return llvm::map_to_vector<4>(values, [&](Value v) { return !v ? kNone : lanes ? useLanes(v) : use(v); });
}

Registers FunctionLowering::defineAll(ValueRange values) {
  return llvm::map_to_vector<4>(values, [&](Value v) { return define(v); });
}

Register FunctionLowering::splatToLanes(Register scalar) {
  RegisterType type = build_.type(scalar);
  type.extent = Extent::Lanes;
  Elem elem = type.elem;
  Register result = build_.newRegister(std::move(type));
  build_.emit({Op::Splat, 0, elem}, {scalar}, {result});
  return result;
}

Register FunctionLowering::constant(const RegisterType& type, int64_t bits) {
  Register result = build_.newRegister(type);
  build_.emit({Op::Constant, 0, type.elem}, {}, {result}, imm::Constant{.bits = bits, .isOffset = 0});
  return result;
}

}  // namespace tandem::lower
