// tile.inline_asm: the text once for every `pack` elements of a thread, in registers of the kinds its constraints ask
// for. Elements narrower than 32 bits share registers.
#include "compiler/lower/nvidia/kernel.h"
#include <llvm/IR/InlineAsm.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

// The type that a constraint's register, or a constant in the text (`n`), has for LLVM; null for a constraint that PTX
// does not know.
llvm::Type* registerType(llvm::IRBuilder<>& b, llvm::StringRef code) {
  if (code == "b") return b.getInt1Ty();
  if (code == "c" || code == "h") return b.getInt16Ty();
  if (code == "r" || code == "n") return b.getInt32Ty();
  if (code == "l" || code == "N") return b.getInt64Ty();
  if (code == "q") return b.getInt128Ty();
  if (code == "f") return b.getFloatTy();
  if (code == "d") return b.getDoubleTy();
  return nullptr;
}

// Returns the number of a thread's elements in one register.
unsigned elementsPerRegister(unsigned bits, unsigned pack) { return std::min(std::max(1u, 32 / bits), pack); }

}  // namespace

struct AsmRegisters {
  std::string constraints;
  llvm::SmallVector<llvm::Type*> outputs, inputs;
  llvm::SmallVector<bool> isText;  // of an input: a constant that stands in the text
};

// The kinds of the registers, outputs and then inputs.
static AsmRegisters asmRegisters(KernelContext& cx, tile::InlineAsmOp op) {
  std::string constraints;
  for (char c : op.getConstraints())
    if (!llvm::isSpace(c)) constraints += c;
  auto fail = [&](const std::string& message) {
    cx.places.fail(op.getLoc(), "inline-assembly", message + ": `" + op.getConstraints().str() + "`");
  };
  AsmRegisters out;
  out.constraints = constraints;
  for (const auto& info : llvm::InlineAsm::ParseConstraints(constraints)) {
    if (info.Type != llvm::InlineAsm::isInput && info.Type != llvm::InlineAsm::isOutput) continue;
    llvm::StringRef code = info.Codes.empty() ? llvm::StringRef() : llvm::StringRef(info.Codes.front());
    unsigned tied = 0;
    bool isTied = !code.getAsInteger(10, tied);
    llvm::Type* type = isTied ? (tied < out.outputs.size() ? out.outputs[tied] : nullptr) : registerType(cx.b, code);
    if (!type) fail("the assembly has a constraint `" + code.str() + "` that is no PTX register");
    (info.Type == llvm::InlineAsm::isOutput ? out.outputs : out.inputs).push_back(type);
    if (info.Type == llvm::InlineAsm::isInput) out.isText.push_back(code == "n");
  }
  auto count = [&](TypeRange types) {
    size_t n = 0;
    for (mlir::Type type : types)
      n += llvm::divideCeil(op.getPack(), elementsPerRegister(cx.bitsOf(cx.typeOf(type)), op.getPack()));
    return n;
  };
  auto check = [&](size_t given, size_t wanted, const char* what) {
    if (given != wanted)
      fail("the assembly's values take " + std::to_string(wanted) + " " + what + " registers, its constraints have " +
           std::to_string(given));
  };
  check(out.outputs.size(), count(op->getResultTypes()), "output");
  check(out.inputs.size(), count(op->getOperandTypes()), "input");
  return out;
}

static llvm::Value* toAsmRegister(KernelContext& cx, llvm::Value* bits, llvm::Type* type, tile::InlineAsmOp op) {
  unsigned have = bits->getType()->getIntegerBitWidth(), want = type->getPrimitiveSizeInBits();
  if (have > want && want != 1)
    cx.places.fail(
        op.getLoc(), "inline-assembly",
        "the assembly has an operand of " + std::to_string(have) + " bits in a register of " + std::to_string(want));
  return cx.b.CreateBitCast(cx.b.CreateZExtOrTrunc(bits, cx.b.getIntNTy(want)), type);
}

// The operand's elements [first, first + pack), the last one repeated beyond the thread's end.
static void packForAsm(KernelContext& cx, mlir::Value operand, size_t first, tile::InlineAsmOp op, Regs& words) {
  const Regs& regs = cx.use(operand);
  Regs parts;
  for (size_t i = 0; i < op.getPack(); ++i) parts.push_back(cx.toBits(regs[std::min(first + i, regs.size() - 1)]));
  unsigned bits = parts[0]->getType()->getIntegerBitWidth();
  words.append(cx.pack(parts, bits * elementsPerRegister(bits, op.getPack())));
}

static Regs unpackFromAsm(KernelContext& cx, Scalars words, mlir::Type element, unsigned packed) {
  llvm::Type* type = cx.typeOf(element);
  unsigned bits = cx.bitsOf(type), wordBits = bits * elementsPerRegister(bits, packed);
  Regs held;
  for (llvm::Value* w : words) {
    llvm::Value* integer = cx.b.CreateBitCast(w, cx.b.getIntNTy(w->getType()->getPrimitiveSizeInBits()));
    held.push_back(cx.b.CreateZExtOrTrunc(integer, cx.b.getIntNTy(wordBits)));
  }
  Regs out = cx.unpack(held, bits, packed);
  for (llvm::Value*& v : out) v = cx.fromBits(v, type);
  return out;
}

static Regs callAsm(KernelContext& cx, tile::InlineAsmOp op, const AsmRegisters& registers, const Regs& words) {
  llvm::Type* result = cx.b.getVoidTy();
  if (registers.outputs.size() == 1) result = registers.outputs[0];
  if (registers.outputs.size() > 1) result = llvm::StructType::get(cx.context, registers.outputs);
  auto* type = llvm::FunctionType::get(result, registers.inputs, false);
  if (llvm::Error error = llvm::InlineAsm::verify(type, registers.constraints))
    cx.places.fail(op.getLoc(), "inline-assembly",
                   "the assembly's constraints are wrong: " + llvm::toString(std::move(error)));
  llvm::CallInst* call =
      cx.b.CreateCall(llvm::InlineAsm::get(type, op.getAssembly(), registers.constraints, !op.getPure()), words);
  call->setDoesNotThrow();
  if (op.getPure()) {
    call->setDoesNotAccessMemory();
    call->addFnAttr(llvm::Attribute::WillReturn);
  } else {
    call->setConvergent();
  }
  if (registers.outputs.empty()) return {};
  return registers.outputs.size() == 1 ? Regs{call} : Regs(ptx::unpack(cx.b, call));
}

static void lowerInlineAsm(KernelContext& cx, tile::InlineAsmOp op) {
  AsmRegisters registers = asmRegisters(cx, op);
  mlir::Value shape = op->getNumResults() ? op->getResult(0) : op->getNumOperands() ? op->getOperand(0) : mlir::Value();
  size_t count = shape ? cx.registersOf(shape) : 1;
  llvm::SmallVector<Regs> results(op->getNumResults());
  for (size_t first = 0; first < count; first += op.getPack()) {
    Regs words;
    for (mlir::Value operand : op->getOperands()) packForAsm(cx, operand, first, op, words);
    for (auto [word, type, isText] : llvm::zip(words, registers.inputs, registers.isText)) {
      word = toAsmRegister(cx, word, type, op);
      if (isText && !llvm::isa<llvm::ConstantInt>(word))
        cx.places.fail(op.getLoc(), "inline-assembly",
                       "the assembly has the constraint `n` for a value that is no constant");
    }
    Regs outputs = callAsm(cx, op, registers, words);
    size_t at = 0;
    for (auto [regs, result] : llvm::zip(results, op->getResults())) {
      unsigned taken =
          llvm::divideCeil(op.getPack(), elementsPerRegister(cx.bitsOf(cx.typeOf(result.getType())), op.getPack()));
      Regs elements = unpackFromAsm(cx, Scalars(outputs).slice(at, taken), result.getType(), op.getPack());
      elements.resize(std::min<size_t>(elements.size(), count - first));
      regs.append(elements);
      at += taken;
    }
  }
  for (auto [value, regs] : llvm::zip(op->getResults(), results)) cx.define(value, regs);
}

void registerInlineAsm(Lowerings& table) {
  on<tile::InlineAsmOp>(table, [](KernelContext& cx, auto o) { lowerInlineAsm(cx, o); });
}

}  // namespace tandem::lower::nvidia
