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

// `element` is the printed tile's type, `type` that of the value passed to printf.
std::string directiveOf(mlir::Type element, llvm::Type* type, bool isSigned, bool asHex) {
  if (isa<tile::PtrType>(element)) return "%p";
  if (asHex) return "0x%0" + std::to_string(std::max(1u, element.getIntOrFloatBitWidth() / 4)) + "llx";
  if (type->isFloatingPointTy()) return "%f";
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

// Converts a value to a type that printf takes: doubles, 32-bit and 64-bit integers.
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

// The index of a printed value, each coordinate as wide as the dimension's largest.
std::string indexFormat(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape) text += (text.empty() ? "%" : ", %") + std::to_string(std::to_string(size - 1).size()) + "u";
  return "idx (" + text + ")";
}

// Triton's form: a line for each element, with the program and the element's index. A value that each thread prints has the thread's.
void KernelLowering::printValue(tile::PrintOp op, unsigned which) {
  mlir::Value value = op.getValues()[which];
  mlir::Type element = getElementTypeOrSelf(value.getType());
  bool isTile = isa<RankedTensorType>(value.getType());
  bool isSigned = op.getIsSigned()[which];
  LinearLayout layout = isTile ? layoutOf(value) : LinearLayout();
  const Regs regs = use(value);
  llvm::SmallVector<int64_t> shape = llvm::to_vector(layout.shape());
  llvm::Value* speaker = isTile ? isOwner(layout) : oneThread(op);
  bool isEach = !isTile && !speaker;
  if (isEach) shape.push_back(32 * numWarps_);
  if (!isTile && regs.size() > 1) shape.push_back(int64_t(regs.size()));
  std::string line = "pid (%u, %u, %u) " + indexFormat(shape) + withoutDirectives(op.getPrefix());
  if (op.getValues().size() > 1) line += "(operand " + std::to_string(which) + ") ";
  llvm::Type* printed = isa<FloatType>(element) ? b_.getDoubleTy() : regs[0]->getType();
  llvm::Value* format = text(line + directiveOf(element, printed, isSigned, op.getHex()) + "\n");
  uint64_t copies = layout.freeMask(Dim::Register);
  when(speaker, [&] {
    for (size_t r = 0; r < regs.size(); ++r) {
      if (r & copies) continue;
      Regs arguments = programIndex();
      if (isTile) arguments.append(coordinates(position(layout, r), layout.shape()));
      if (isEach) arguments.push_back(threadId());
      if (!isTile && regs.size() > 1) arguments.push_back(b_.getInt32(uint32_t(r)));
      arguments.push_back(printable(regs[r], element, isSigned, op.getHex()));
      callPrintf(format, arguments);
    }
  });
}

void KernelLowering::lowerPrint(tile::PrintOp op) {
  for (unsigned i = 0; i < op.getValues().size(); ++i) printValue(op, i);
  if (!op.getValues().empty()) return;
  llvm::Value* format = text("pid (%u, %u, %u)" + withoutDirectives(op.getPrefix()) + "\n");
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
