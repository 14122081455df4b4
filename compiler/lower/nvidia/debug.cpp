// Printing, assertions and promises. The device's own printf and assertion handler do the work.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
namespace {

std::string withoutDirectives(llvm::StringRef text) {
  std::string out;
  for (char c : text) out += c == '%' ? std::string("%%") : std::string(1, c);
  return out;
}

std::string directiveOf(llvm::Type* type, bool isSigned, bool asHex) {
  if (asHex) return "0x%llx";
  if (type->isPointerTy()) return "%p";
  if (type->isFloatingPointTy()) return "%g";
  return type->getIntegerBitWidth() > 32 ? (isSigned ? "%lld" : "%llu") : (isSigned ? "%d" : "%u");
}

}  // namespace

llvm::Value* KernelLowering::text(llvm::StringRef text) {
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(context_, text);
  auto* global = new llvm::GlobalVariable(module_, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes, "text", nullptr,
                                          llvm::GlobalValue::NotThreadLocal, 1);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return b_.CreateAddrSpaceCast(global, b_.getPtrTy());
}

bool KernelLowering::lowerDebug(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::PrintOp>([&](auto o) { return lowerPrint(o), true; })
      .Case<tile::AssertOp>([&](auto o) { return lowerAssert(o), true; })
      .Case<tile::AssumeOp>([&](auto o) { return b_.CreateAssumption(useScalar(o.getCondition())), true; })
      .Default([](Operation*) { return false; });
}

// What printf takes: doubles, 32-bit and 64-bit integers.
llvm::Value* KernelLowering::printable(llvm::Value* value, mlir::Type type, bool isSigned, bool asHex) {
  if (asHex || value->getType()->isPointerTy()) return b_.CreateZExt(toBits(value), b_.getInt64Ty());
  if (isa<FloatType>(type)) {
    llvm::Value* wide = toFloat(value, type);
    return wide->getType()->isDoubleTy() ? wide : b_.CreateFPExt(wide, b_.getDoubleTy());
  }
  if (value->getType()->getIntegerBitWidth() > 32) return value;
  return isSigned ? b_.CreateSExt(value, b_.getInt32Ty()) : b_.CreateZExt(value, b_.getInt32Ty());
}

void KernelLowering::callPrintf(llvm::Value* format, Scalars values) {
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* v : values) types.push_back(v->getType());
  auto* type = llvm::StructType::get(context_, types);
  llvm::Value* buffer = temporary(type);
  for (auto [i, v] : llvm::enumerate(values)) b_.CreateStore(v, b_.CreateStructGEP(type, buffer, i));
  auto callee = module_.getOrInsertFunction("vprintf", b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy());
  b_.CreateCall(callee, {format, buffer});
}

// A line for each element: the program, the element's place, the prefix, the number.
void KernelLowering::printValue(tile::PrintOp op, unsigned which) {
  mlir::Value value = op.getValues()[which];
  mlir::Type element = getElementTypeOrSelf(value.getType());
  bool isTile = isa<RankedTensorType>(value.getType());
  bool isSigned = which < op.getIsSigned().size() && op.getIsSigned()[which];
  LinearLayout layout = isTile ? layoutOf(value) : LinearLayout();
  std::string line = "pid (%u, %u, %u) ";
  for (unsigned d = 0; d < layout.rank(); ++d) line += (d ? ", %u" : "idx (%u");
  if (layout.rank()) line += ") ";
  line += withoutDirectives(op.getPrefix()) + " ";
  if (op.getValues().size() > 1) line += "(operand " + std::to_string(which) + ") ";
  const Regs regs = use(value);
  llvm::Type* printed = isa<FloatType>(element) ? b_.getDoubleTy() : regs[0]->getType();
  llvm::Value* format = text(line + directiveOf(printed, isSigned, op.getHex()) + "\n");
  uint64_t copies = layout.freeMask(Dim::Register);
  when(isTile ? isOwner(layout) : oneThread(op), [&] {
    for (size_t r = 0; r < regs.size(); ++r) {
      if (r & copies) continue;
      Regs arguments = programIndex();
      if (layout.rank()) arguments.append(coordinates(position(layout, r), layout.shape()));
      arguments.push_back(printable(regs[r], element, isSigned, op.getHex()));
      callPrintf(format, arguments);
    }
  });
}

void KernelLowering::lowerPrint(tile::PrintOp op) {
  for (unsigned i = 0; i < op.getValues().size(); ++i) printValue(op, i);
  if (!op.getValues().empty()) return;
  llvm::Value* format = text("pid (%u, %u, %u) " + withoutDirectives(op.getPrefix()) + "\n");
  when(oneThread(op), [&] { callPrintf(format, programIndex()); });
}

Regs KernelLowering::programIndex() {
  return {programId(0), programId(1), programId(2)};
}

// The thread that speaks for all; where threads differ each speaks for itself (null).
llvm::Value* KernelLowering::oneThread(Operation* op) {
  return threadValues(op).actsEach(op) ? nullptr : isFirstThread();
}

void KernelLowering::lowerAssert(tile::AssertOp op) {
  llvm::Value* fails = b_.getFalse();
  for (size_t r = 0, n = use(op.getCondition()).size(); r < n; ++r) {
    llvm::Value* wrong = b_.CreateNot(pick(op.getCondition(), r));
    if (op.getMask()) wrong = b_.CreateAnd(wrong, pick(op.getMask(), r));
    fails = b_.CreateOr(fails, wrong);
  }
  bool isTile = isa<RankedTensorType>(op.getCondition().getType());
  if (llvm::Value* speaker = isTile ? isOwner(layoutOf(op.getCondition())) : oneThread(op)) fails = b_.CreateAnd(fails, speaker);
  auto [file, line] = Places::fileAndLine(op.getLoc());
  llvm::Value *message = text(op.getMessage()), *where = text(file), *function = text(function_->getName());
  auto callee = module_.getOrInsertFunction("__assertfail", b_.getVoidTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy(),
                                            b_.getInt64Ty());
  when(fails, [&] { b_.CreateCall(callee, {message, where, b_.getInt32(line), function, b_.getInt64(1)}); });
}

}  // namespace tandem::lower::nvidia
