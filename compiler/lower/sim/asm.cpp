// tile.inline_asm, as far as its text is known.
#include "compiler/dialect/tile/tile.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/inline_asm.h"
#include "compiler/lower/sim/types.h"

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;

void FunctionLowering::lowerInlineAsm(Operation* op) {
  auto assembly = cast<tile::InlineAsmOp>(op);
  StringRef text = assembly.getAssembly().trim();
  const KnownAsm* known = findKnownAsm(text);
  bool onTiles = llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile);
  bool isAccess = known && (known->op == Op::Ld || known->op == Op::St);
  if (!known || (onTiles && known->op != Op::Unary) || op->getNumResults() > 1 ||
      (isAccess && op->getNumOperands() == 0))
    locations_.fail(
        op, "unsupported",
        "the simulator cannot run `tile.inline_asm`: " + text.take_until([](char c) { return c == '\n'; }).str());
  if (known->op != Op::Unary && !combine_) program_.perThread = true;
  bool givesValue = known->op == Op::Tid || known->op == Op::Ntid || known->op == Op::Special || known->op == Op::Ld ||
                    known->op == Op::Unary;
  Registers operands = givesValue || known->op == Op::St ? useAlike(llvm::to_vector(op->getOperands())) : Registers{};
  Registers results = defineAll(op->getResults());
  Elem kind = Elem::I32;
  if (!results.empty()) kind = build_.type(results[0]).elem;
  if (known->op == Op::St) kind = build_.type(operands.back()).elem;
  build_.emit({known->op, known->sub, kind}, operands, givesValue ? ArrayRef<Register>(results) : ArrayRef<Register>(),
              known->immediates);
  // The text of an effect has a result only because the language asks for one.
  if (!givesValue && !results.empty())
    build_.emit({Op::Constant, 0, build_.type(results[0]).elem}, {}, results, {0, 0});
}

}  // namespace tandem::lower
