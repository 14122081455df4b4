// One instruction at a time: its modifiers and guard, and where its results go.
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

std::optional<PtxType> typeOf(llvm::StringRef word) {
  static const llvm::StringMap<PtxType> types = [] {
    llvm::StringMap<PtxType> map;
    for (char kind : {'b', 'u', 's'}) {
      auto add = [&](const char* width, Elem elem, unsigned bits, unsigned parts = 1) {
        map[std::string(1, kind) + width] = {kind, elem, bits, parts};
      };
      add("8", Elem::I8, 8);
      add("16", Elem::I16, 16);
      add("32", Elem::I32, 32);
      add("64", Elem::I64, 64);
      if (kind != 'b') add("16x2", Elem::I16, 32, 2);
    }
    map["f16"] = {'f', Elem::F16, 16};
    map["bf16"] = {'f', Elem::BF16, 16};
    map["f16x2"] = {'f', Elem::F16, 32, 2};
    map["bf16x2"] = {'f', Elem::BF16, 32, 2};
    map["f32"] = {'f', Elem::F32, 32};
    map["f32x2"] = {'f', Elem::F32, 64, 2};
    map["f64"] = {'f', Elem::F64, 64};
    map["e4m3x2"] = {'f', Elem::F8E4M3FN, 16, 2};
    map["e5m2x2"] = {'f', Elem::F8E5M2, 16, 2};
    map["pred"] = {'p', Elem::I1, 1};
    return map;
  }();
  auto found = types.find(word);
  if (found == types.end()) return std::nullopt;
  return found->second;
}

}  // namespace

const PtxRow* findPtx(llvm::StringRef opcode) {
  static const PtxTable table = [] {
    PtxTable t;
    addIntegers(t);
    addBits(t);
    addCompares(t);
    addFloats(t);
    addMoves(t);
    addConversions(t);
    addMemory(t);
    addAtomics(t);
    addThreads(t);
    addWarps(t);
    addBulk(t);
    return t;
  }();
  auto found = table.find(opcode);
  return found == table.end() ? nullptr : &found->second;
}

PtxRow::Effect effectOf(const ptx::Instruction& in) {
  const PtxRow* row = findPtx(in.opcode);
  return row ? row->effect : PtxRow::Effect::None;
}

void Assembler::fail(const std::string& why) {
  fail_("the simulator cannot run `" + in_->text + "`: " + why);
  llvm_unreachable("`fail` returned");
}

const ptx::Operand& Assembler::operand(size_t i) {
  if (i >= in_->operands.size()) fail("it has too few operands");
  return in_->operands[i];
}

void Assembler::expectOperands(size_t least, size_t most) {
  if (operandCount() < least) fail("it has too few operands");
  if (operandCount() > most) fail("it has too many operands");
}

bool Assembler::take(llvm::StringRef modifier) {
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i] && in_->modifiers[i] == modifier) return taken_[i] = true;
  return false;
}

llvm::StringRef Assembler::takeOneOf(llvm::ArrayRef<llvm::StringRef> words) {
  for (llvm::StringRef word : words)
    if (take(word)) return word;
  return "";
}

bool Assembler::isFirst(llvm::StringRef modifier) const {
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i]) return in_->modifiers[i] == modifier;
  return false;
}

void Assembler::takePrefixed(llvm::StringRef prefix) {
  for (size_t i = 0; i < taken_.size(); ++i)
    taken_[i] = taken_[i] || llvm::StringRef(in_->modifiers[i]).starts_with(prefix);
}

llvm::SmallVector<PtxType, 2> Assembler::takeTypes(size_t count) {
  llvm::SmallVector<PtxType, 2> types;
  for (size_t i = 0; i < taken_.size(); ++i)
    if (std::optional<PtxType> type = typeOf(in_->modifiers[i]); type && !taken_[i]) {
      taken_[i] = true;
      types.push_back(*type);
    }
  if (types.size() != count) fail("it needs " + std::to_string(count) + " types that the simulator has");
  return types;
}

Register Assembler::get(uint32_t variable) {
  if (values_[variable] != kNone) return values_[variable];
  return values_[variable] = constant(integerOf(body_.variables[variable].bits), 0);
}

void Assembler::assign(uint32_t variable, Register value) {
  if (chosen_ != kNone) value = select(chosen_, value, get(variable));
  if (!isFixed_) {
    values_[variable] = value;
    return;
  }
  build_.emit({maskDepth_ ? Op::MaskedCopy : Op::Copy, 0, elemOf(value)}, {value}, {values_[variable]});
}

Register Assembler::guardOf(const ptx::Instruction& in) {
  if (!in.isGuarded) return kNone;
  return bits(in.guard, {'p', Elem::I1, 1, 1});
}

void Assembler::run() {
  prepareVariables();
  lowerRange(0, static_cast<uint32_t>(body_.code.size()), nullptr, 0);
}

// If paths join, a variable is a register of its own, which each path writes.
void Assembler::prepareVariables() {
  for (const ptx::Instruction& in : body_.code)
    isFixed_ = isFixed_ || isBranch(in) || (in.isGuarded && effectOf(in) != PtxRow::Effect::None && !onTile());
  if (!isFixed_) return;
  for (uint32_t v = 0; v < values_.size(); ++v) {
    Register first = get(v);
    Register own = fresh(elemOf(first));
    build_.emit({Op::Copy, 0, elemOf(first)}, {first}, {own});
    values_[v] = own;
  }
}

void Assembler::lowerInstruction(uint32_t at) {
  in_ = &body_.code[at];
  taken_.assign(in_->modifiers.size(), false);
  const PtxRow* row = findPtx(in_->opcode);
  if (!row) fail("it has no `" + in_->opcode + "`");
  Register guard = guardOf(*in_);
  bool hasEffect = row->effect != PtxRow::Effect::None;
  auto lower = [&] {
    row->lower(*this);
    for (size_t i = 0; i < taken_.size(); ++i)
      if (!taken_[i]) fail("it has no `." + in_->modifiers[i] + "` there");
  };
  if (onTile() && row->effect == PtxRow::Effect::Threads && guard != kNone)
    fail("a tile's elements cannot guard what threads do together");
  if (guard != kNone && hasEffect && !onTile()) return guarded(guard, lower, nullptr);
  chosen_ = guard;
  mask_ = hasEffect ? guard : kNone;
  lower();
  chosen_ = mask_ = kNone;
}

}  // namespace tandem::lower
