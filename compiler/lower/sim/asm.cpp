// tile.inline_asm: its text is assembled for the simulator once, over all groups of `pack` elements.
#include "compiler/dialect/tile/tile.h"
#include "compiler/lower/sim/assembly.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/packing.h"
#include "compiler/lower/sim/types.h"

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;

ParsedAssembly parseAssembly(tile::InlineAsmOp op) {
  ParsedAssembly parsed;
  parsed.constraints = ptx::parseConstraints(op.getConstraints());
  parsed.error = parsed.constraints.error;
  if (!parsed.error.empty()) return parsed;
  std::vector<unsigned> bits;
  for (const auto* list : {&parsed.constraints.outputs, &parsed.constraints.inputs})
    for (const ptx::Constraint& c : *list) bits.push_back(c.bits);
  ptx::Parsed text = ptx::parse(op.getAssembly(), bits);
  parsed.body = std::move(text.body);
  parsed.error = std::move(text.error);
  return parsed;
}

namespace {

bool isPowerOf2(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

unsigned bitsOf(Elem elem) { return elem == Elem::I1 ? 1 : byteSize(elem) * 8; }

}  // namespace

void FunctionLowering::lowerInlineAsm(Operation* op) {
  auto assembly = cast<tile::InlineAsmOp>(op);
  auto fail = [&](const std::string& message) { locations_.fail(op, "unsupported", message); };
  ParsedAssembly parsed = parseAssembly(assembly);
  if (!parsed.error.empty()) fail("the simulator cannot run the inline assembly: " + parsed.error);
  int64_t pack = assembly.getPack();
  Registers operands = useAlike(llvm::to_vector(op->getOperands()));
  Registers results = defineAll(op->getResults());
  RegisterType like;
  if (!results.empty()) like = build_.type(results[0]);
  if (!operands.empty() && like.extent != Extent::Lanes) like = build_.type(operands[0]);
  if (differsByThread(parsed.body) && like.extent == Extent::Uniform) like.extent = Extent::Lanes;
  int64_t count = like.extent == Extent::Tile ? like.count() : 1;
  if (pack > 1 && (!isPowerOf2(pack) || !isPowerOf2(count)))
    fail("the simulator cannot run the inline assembly: it packs " + std::to_string(pack) + " of " +
         std::to_string(count) + " elements");
  for (Register& r : operands)
    if (like.extent == Extent::Lanes && !build_.isLanes(r)) r = splatToLanes(r);
  assemble(parsed, like, pack, operands, results, fail);
  bool hasEffect =
      llvm::any_of(parsed.body.code, [](const ptx::Instruction& in) { return effectOf(in) != PtxRow::Effect::None; });
  if (hasEffect && combine_)
    fail("inline assembly that touches memory or other threads cannot stand in the function of a reduction");
  if (hasEffect && like.extent != Extent::Tile) program_.perThread = true;
}

// Outputs come first among the text's operands, each value in as many of them as its elements take.
void FunctionLowering::assemble(const ParsedAssembly& parsed, const RegisterType& like, int64_t pack,
                                ArrayRef<Register> operands, ArrayRef<Register> results,
                                llvm::function_ref<void(const std::string&)> fail) {
  Packing packing(build_, like, pack);
  RegisterType group = packing.group();
  Assembler assembler(build_, parsed.body, group, [&](const std::string& message) { fail(message); });
  const auto &outputs = parsed.constraints.outputs, &inputs = parsed.constraints.inputs;
  llvm::SmallVector<Register> words;
  for (Register r : operands) words.append(packing.pack(r));
  int64_t wanted = 0;
  for (Register r : results) wanted += packing.words(build_.type(r).elem);
  auto expect = [&](size_t have, size_t want, const char* what) {
    if (have != want)
      fail("the assembly's values take " + std::to_string(want) + " " + what + " registers, its constraints have " +
           std::to_string(have));
  };
  expect(outputs.size(), size_t(wanted), "output");
  expect(inputs.size(), words.size(), "input");
  for (size_t i = 0; i < inputs.size(); ++i) {
    Elem have = build_.type(words[i]).elem;
    if (bitsOf(have) > inputs[i].bits)
      fail("the assembly has an operand of " + std::to_string(bitsOf(have)) + " bits in a register of " +
           std::to_string(inputs[i].bits));
    Register word = assembler.resize(words[i], assembler.integerOf(inputs[i].bits), false);
    assembler.set(uint32_t(outputs.size() + i), word);
    if (inputs[i].tiedTo >= 0) assembler.set(uint32_t(inputs[i].tiedTo), word);
  }
  assembler.run();
  uint32_t next = 0;
  for (Register r : results) {
    llvm::SmallVector<Register> got;
    for (int64_t k = packing.words(build_.type(r).elem); k-- > 0;) got.push_back(assembler.get(next++));
    packing.unpack(got, r);
  }
}

}  // namespace tandem::lower
