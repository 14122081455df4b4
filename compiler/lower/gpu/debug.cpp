// Printing, assertions and promises. The device's own printf and assertion handler do the work.
#include "compiler/lower/gpu/debug.h"
#include "compiler/lower/gpu/float_convert.h"

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;
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

llvm::Value* text(KernelContext& cx, llvm::StringRef text) {
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(cx.context, text);
  auto* global = new llvm::GlobalVariable(cx.module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes,
                                          "text", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return cx.b.CreateAddrSpaceCast(global, cx.b.getPtrTy());
}

// Converts a value to a type that printf takes: doubles, 32-bit and 64-bit integers.
static llvm::Value* printable(KernelContext& cx, llvm::Value* value, mlir::Type type, bool isSigned, bool asHex) {
  if (asHex || value->getType()->isPointerTy()) return cx.b.CreateZExt(cx.toBits(value), cx.b.getInt64Ty());
  if (isa<FloatType>(type)) {
    llvm::Value* wide = toFloat(cx, value, type);
    return wide->getType()->isDoubleTy() ? wide : cx.b.CreateFPExt(wide, cx.b.getDoubleTy());
  }
  if (value->getType()->getIntegerBitWidth() > 32) return value;
  return isSigned ? cx.b.CreateSExt(value, cx.b.getInt32Ty()) : cx.b.CreateZExt(value, cx.b.getInt32Ty());
}

// The index of a printed value, each coordinate as wide as the dimension's largest.
static std::string indexFormat(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "%" : ", %") + std::to_string(std::to_string(size - 1).size()) + "u";
  return "idx (" + text + ")";
}

// The thread that speaks for all; where threads differ each speaks for itself (null).
static llvm::Value* oneThread(KernelContext& cx, Operation* op) {
  return cx.threadValues(op).actsEach(op) ? nullptr : cx.isFirstThread();
}

// Triton's form: a line for each element, with the program and the element's index. A value that each thread prints has
// the thread's.
static void printValue(KernelContext& cx, tile::PrintOp op, unsigned which) {
  mlir::Value value = op.getValues()[which];
  mlir::Type element = getElementTypeOrSelf(value.getType());
  bool isTile = isa<RankedTensorType>(value.getType());
  bool isSigned = op.getIsSigned()[which];
  LinearLayout layout = isTile ? cx.layoutOf(value) : LinearLayout();
  const Regs regs = cx.use(value);
  llvm::SmallVector<int64_t> shape = llvm::to_vector(layout.shape());
  llvm::Value* speaker = isTile ? cx.isOwner(layout) : oneThread(cx, op);
  bool isEach = !isTile && !speaker;
  if (isEach) shape.push_back(cx.numThreads());
  if (!isTile && regs.size() > 1) shape.push_back(int64_t(regs.size()));
  std::string line = "pid (%u, %u, %u) " + indexFormat(shape) + withoutDirectives(op.getPrefix());
  if (op.getValues().size() > 1) line += "(operand " + std::to_string(which) + ") ";
  llvm::Type* printed = isa<FloatType>(element) ? cx.b.getDoubleTy() : regs[0]->getType();
  llvm::Value* format = text(cx, line + directiveOf(element, printed, isSigned, op.getHex()) + "\n");
  uint64_t copies = layout.freeMask(Dim::Register);
  cx.when(speaker, [&] {
    for (size_t r = 0; r < regs.size(); ++r) {
      if (r & copies) continue;
      Regs arguments = programIndex(cx);
      if (isTile) arguments.append(cx.coordinates(cx.position(layout, r), layout.shape()));
      if (isEach) arguments.push_back(cx.threadId());
      if (!isTile && regs.size() > 1) arguments.push_back(cx.b.getInt32(uint32_t(r)));
      arguments.push_back(printable(cx, regs[r], element, isSigned, op.getHex()));
      cx.emit.print(format, arguments);
    }
  });
}

static void lowerPrint(KernelContext& cx, tile::PrintOp op) {
  for (unsigned i = 0; i < op.getValues().size(); ++i) printValue(cx, op, i);
  if (!op.getValues().empty()) return;
  llvm::Value* format = text(cx, "pid (%u, %u, %u)" + withoutDirectives(op.getPrefix()) + "\n");
  cx.when(oneThread(cx, op), [&] { cx.emit.print(format, programIndex(cx)); });
}

Regs programIndex(KernelContext& cx) { return {cx.programId(0), cx.programId(1), cx.programId(2)}; }

static void lowerAssert(KernelContext& cx, tile::AssertOp op) {
  llvm::Value* fails = cx.b.getFalse();
  for (size_t r = 0, n = cx.use(op.getCondition()).size(); r < n; ++r) {
    llvm::Value* wrong = cx.b.CreateNot(cx.pick(op.getCondition(), r));
    if (op.getMask()) wrong = cx.b.CreateAnd(wrong, cx.pick(op.getMask(), r));
    fails = cx.b.CreateOr(fails, wrong);
  }
  auto [file, line] = Places::fileAndLine(op.getLoc());
  llvm::Value *message = text(cx, op.getMessage()), *where = text(cx, file),
              *function = text(cx, cx.function->getName());
  // All threads that hold the condition look at it, and those that fail end there. The others meet: the assembler takes the
  // threads of a warp to be apart behind a branch, asks at each shuffle, and keeps no descriptor in uniform registers.
  llvm::BasicBlock *failed = cx.newBlock("failed"), *next = cx.newBlock("asserted");
  cx.b.CreateCondBr(fails, failed, next);
  cx.b.SetInsertPoint(failed);
  cx.emit.failAssertion(message, where, line, function);
  cx.b.CreateUnreachable();
  cx.b.SetInsertPoint(next);
  if (!cx.threadValues(op).actsEach(op)) cx.emit.blockBarrier();
}

void registerDebug(Lowerings& table) {
  table.on<tile::PrintOp>([](KernelContext& cx, auto o) { lowerPrint(cx, o); });
  table.on<tile::AssertOp>([](KernelContext& cx, auto o) { lowerAssert(cx, o); });
  table.on<tile::AssumeOp>([](KernelContext& cx, auto o) { cx.b.CreateAssumption(cx.useScalar(o.getCondition())); });
}

}  // namespace tandem::lower::gpu
