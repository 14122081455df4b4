// tile.inline_asm: its text is assembled for the simulator once, over all groups of `pack` elements. If the elements of
// a tile may go different ways, each element is handled by a thread: where the text branches, and where it touches
// memory under a condition that differs by thread.
#include "compiler/dialect/tile/attributes.h"
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
  bool hasEffect =
      llvm::any_of(parsed.body.code, [](const ptx::Instruction& in) { return effectOf(in) != PtxRow::Effect::None; });
  bool divergent = divergence_.isDivergent(op);
  bool isDealt = like.extent == Extent::Tile && (branches(parsed.body) || (hasEffect && divergent));
  if (pack > 1 && (!isPowerOf2(pack) || !isPowerOf2(count)))
    fail("the simulator cannot run the inline assembly: it packs " + std::to_string(pack) + " of " +
         std::to_string(count) + " elements");
  if (isDealt) checkDealt(op, count, pack, divergent, fail);
  if (isDealt) like = {like.elem, Extent::Lanes, 1, {}};
  Registers words = results;
  for (Register& r : operands) r = dealt(r, like);
  if (isDealt)
    for (Register& r : words) r = build_.newRegister({build_.type(r).elem, Extent::Lanes, 1, {}});
  assemble(parsed, like, pack, operands, words, fail);
  if (isDealt && !op->use_empty())
    for (auto [from, to] : llvm::zip(words, results)) build_.emit({Op::Collect, 0, build_.type(to).elem}, {from}, {to});
  if (hasEffect && combine_)
    fail("inline assembly that touches memory or other threads cannot stand in the function of a reduction");
  if ((hasEffect && like.extent != Extent::Tile) || isDealt) program_.perThread = true;
}

// Triton repeats a tile that is smaller than the threads, so that thread t has element t modulo the count.
void FunctionLowering::checkDealt(Operation* op, int64_t count, int64_t pack, bool divergent,
                                  llvm::function_ref<void(const std::string&)> fail) {
  int64_t threads = 32 * tile::numWarps(op->getParentOfType<func::FuncOp>());
  if (count > threads || pack > 1)
    fail(
        "the simulator cannot run the inline assembly: each element is a thread's here, so it needs a tile of at most " +
        std::to_string(threads) + " elements, each by itself");
  if (divergent && !op->use_empty())
    fail(
        "the simulator cannot run the inline assembly: its result is a tile, of which threads that are not here have a part");
}

Register FunctionLowering::dealt(Register value, const RegisterType& like) {
  const RegisterType& type = build_.type(value);
  if (like.extent != Extent::Lanes || type.extent == Extent::Lanes) return value;
  if (type.extent != Extent::Tile) return splatToLanes(value);
  Register result = build_.newRegister({type.elem, Extent::Lanes, 1, {}});
  build_.emit({Op::Deal, 0, build_.type(value).elem}, {value}, {result});
  return result;
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
