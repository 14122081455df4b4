// Loads, stores and hints through the simulator's own ld and st: weak or strong as the text says, vectors as one access
// of a thread.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

constexpr PtxType kWide{'b', Elem::I64, 64, 1}, kWord{'b', Elem::I32, 32, 1};

PtxType asWord(PtxType t) { return {t.kind, Assembler::integerOf(t.bits), t.bits, 1}; }

template <class Immediates> Immediates immediatesOf(const PtxAccess& access) {
  return {.semantic = static_cast<int64_t>(access.semantic),
          .scope = static_cast<int64_t>(access.scope),
          .weak = access.isWeak};
}

// Takes the modifiers that only say how likely the data is wanted again.
void takeHints(Assembler& a) {
  a.takePrefixed("L1::");
  a.takePrefixed("L2::");
  a.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
}

// One for a plain access.
size_t takeVectorLength(Assembler& a) {
  llvm::StringRef vector = a.takeOneOf({"v2", "v4", "v8"});
  return vector.empty() ? 1 : static_cast<size_t>(vector[1] - '0');
}

llvm::ArrayRef<ptx::Operand> elements(Assembler& a, size_t i, size_t length) {
  const ptx::Operand& whole = a.operand(i);
  if (length == 1) return whole;
  if (whole.kind != ptx::Operand::Kind::Vector || whole.parts.size() != length)
    a.fail("`.v" + std::to_string(length) + "` needs " + std::to_string(length) + " registers");
  return whole.parts;
}

// A cache policy may stand at the end.
void expectAccessOperands(Assembler& a, size_t count, bool hasHint) { a.expectOperands(count, count + hasHint); }

struct Parsed {
  PtxAccess access;
  size_t length = 1;
  PtxType type;
  bool hasHint = false;
};
Parsed parseAccess(Assembler& a, PtxAccessKind kind = PtxAccessKind::Plain) {
  Parsed p;
  p.hasHint = a.take("L2::cache_hint");
  takeHints(a);
  p.access = takeAccess(a, kind);
  p.length = takeVectorLength(a);
  p.type = asWord(a.takeType());
  return p;
}

// Only threads have vectors: a tile's are read by their elements. Its weak accesses are those of tl.load and tl.store.
llvm::SmallVector<Register> loadTile(Assembler& a, const Parsed& p) {
  llvm::SmallVector<Register> values;
  for (size_t k = 0; k < p.length; ++k) {
    Register at = address(a, 1, p.access, int64_t(k) * p.type.bits / 8);
    values.push_back(
        p.access.isWeak
            ? a.emit({Op::Load, 0, Elem::I64}, {at, a.mask(), kNone}, p.type.elem, imm::Load{.isVolatile = 0})
            : a.emit({Op::Ld, 0, p.type.elem}, {at, a.mask()}, p.type.elem, immediatesOf<imm::Ld>(p.access)));
  }
  return values;
}

llvm::SmallVector<Register> loadVector(Assembler& a, const Parsed& p) {
  Register all = a.fresh(p.type.elem, static_cast<unsigned>(p.length));
  a.build().emit({Op::Ld, 0, p.type.elem}, {address(a, 1, p.access), kNone}, {all}, immediatesOf<imm::Ld>(p.access));
  if (p.length == 1) return {all};
  llvm::SmallVector<Register> values;
  for (size_t k = 0; k < p.length; ++k)
    values.push_back(a.emit({Op::VectorExtract, 0, p.type.elem}, {all}, p.type.elem,
                            imm::VectorExtract{.index = static_cast<int64_t>(k)}));
  return values;
}

void load(Assembler& a) {
  a.take("nc");
  Parsed p = parseAccess(a);
  expectAccessOperands(a, 2, p.hasHint);
  auto values = a.onTile() ? loadTile(a, p) : loadVector(a, p);
  for (auto [to, value] : llvm::zip(elements(a, 0, p.length), values)) a.write(to, value, p.type, Width::Wider);
}

void store(Assembler& a) {
  Parsed p = parseAccess(a);
  expectAccessOperands(a, 2, p.hasHint);
  llvm::SmallVector<Register> values;
  for (const ptx::Operand& from : elements(a, 1, p.length)) values.push_back(a.bits(from, p.type, Width::Wider));
  auto put = [&](Register value, int64_t bytes) {
    Register at = address(a, 0, p.access, bytes);
    if (a.onTile() && p.access.isWeak) return a.emitOnly({Op::Store, 0, p.type.elem}, {at, value, a.mask()});
    a.emitOnly({Op::St, 0, p.type.elem}, {at, value, a.mask()}, immediatesOf<imm::St>(p.access));
  };
  if (a.onTile()) {
    for (size_t k = 0; k < p.length; ++k) put(values[k], int64_t(k) * p.type.bits / 8);
    return;
  }
  if (p.length == 1) return put(values[0], 0);
  Register all = a.fresh(p.type.elem, static_cast<unsigned>(p.length));
  a.build().emit({Op::Vector, 0, p.type.elem}, values, {all});
  put(all, 0);
}

// A later read of the line finds bytes that nobody has promised, so this is a write.
void discard(Assembler& a) {
  PtxAccess access = takeAccess(a, PtxAccessKind::Plain);
  if (!a.take("L2") || a.immediate(1) != 128) a.fail("it discards 128 bytes of `.L2`");
  if (a.onTile()) a.fail("the simulator discards no lines of a tile's addresses");
  Register line = a.fresh(Elem::I64, 16);
  a.build().emit({Op::Constant, 0, Elem::I64}, {}, {line}, imm::Constant{.bits = 0, .isOffset = 0});
  a.emitOnly({Op::St, 0, Elem::I64}, {address(a, 0, access), line, kNone}, immediatesOf<imm::St>(access));
}

// A hint changes nothing in memory.
void hint(Assembler& a) { a.takePrefixed(""); }

void createPolicy(Assembler& a) {
  a.takePrefixed("");
  a.write(0, a.constant(Elem::I64, 0), kWide);
}

void copy(Assembler& a) {
  if (!a.take("async")) a.fail("it copies asynchronously only");
  if (!a.take("bulk")) return copyOfThread(a);
  if (a.take("prefetch")) return hint(a);
  if (a.take("commit_group")) return a.emitOnly({Op::BulkCommit}, {});
  if (!a.take("wait_group")) return copyBulk(a);
  a.expectOperands(1, 1);
  bool readsOnly = a.take("read");
  a.emitOnly({Op::BulkWait}, {}, imm::BulkWait{.pending = static_cast<int64_t>(a.immediate(0)), .read = readsOnly});
}

void multimemStore(Assembler& a, const Parsed& p) {
  a.expectOperands(2, 2);
  llvm::SmallVector<Register> values;
  for (const ptx::Operand& from : elements(a, 1, p.length)) values.push_back(a.bits(from, p.type));
  Register all = values[0];
  if (p.length > 1) {
    all = a.fresh(p.type.elem, static_cast<unsigned>(p.length));
    a.build().emit({Op::Vector, 0, p.type.elem}, values, {all});
  }
  a.emitOnly({Op::MultimemSt, 0, p.type.elem}, {address(a, 0, p.access), all});
}

// Summed in the text's type, read as words.
void multimemLoad(Assembler& a, const PtxAccess& access, size_t length, PtxType summed) {
  a.expectOperands(2, 2);
  PtxType t = asWord(summed);
  Register sums = a.fresh(summed.elem, static_cast<unsigned>(length * summed.parts)),
           words = a.fresh(t.elem, static_cast<unsigned>(length));
  a.build().emit({Op::MultimemLdReduce, 0, summed.elem}, {address(a, 1, access)}, {sums});
  a.build().emit({Op::VectorBitcast, 0, summed.elem}, {sums}, {words});
  for (auto [k, to] : llvm::enumerate(elements(a, 0, length)))
    a.write(
        to,
        a.emit({Op::VectorExtract, 0, t.elem}, {words}, t.elem, imm::VectorExtract{.index = static_cast<int64_t>(k)}),
        t);
}

void multimem(Assembler& a) {
  if (a.onTile()) a.fail("the simulator has it for threads only");
  bool loads = a.take("ld_reduce");
  if (!loads && !a.take("st")) a.fail("of `multimem` it has `.ld_reduce` and `.st`");
  PtxAccess access = takeAccess(a, PtxAccessKind::Atomic);
  if (access.semantic != Semantic::Relaxed) a.fail("the simulator has it relaxed only");
  size_t length = takeVectorLength(a);
  if (!loads) return multimemStore(a, {access, length, asWord(a.takeType()), false});
  if (!a.take("add")) a.fail("of its reductions the simulator has `.add`");
  a.take("acc::f32");
  PtxType t = a.takeType();
  if (t.kind == 'b') a.fail("a sum needs a type of numbers");
  multimemLoad(a, access, length, t);
}

}  // namespace

// A program is a cluster of its own.
std::optional<Scope> takeScope(Assembler& a) {
  llvm::StringRef scope = a.takeOneOf({"cta", "cluster", "gpu", "sys"});
  if (scope.empty()) return std::nullopt;
  return scope == "sys" ? Scope::Sys : scope == "gpu" ? Scope::Gpu : Scope::Cta;
}

// `.volatile` and `.mmio` are as strong as `.relaxed.sys`.
PtxAccess takeAccess(Assembler& a, PtxAccessKind kind) {
  PtxAccess access;
  access.isShared = !a.takeOneOf({"shared::cta", "shared"}).empty();
  if (!access.isShared) a.takeOneOf({"global", "const"});
  llvm::StringRef semantic = a.takeOneOf({"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"});
  if (semantic == "mmio") a.take("relaxed");
  bool isAtomic = kind == PtxAccessKind::Atomic, isOfSystem = semantic == "volatile" || semantic == "mmio";
  std::optional<Scope> scope = takeScope(a);
  access.isWeak = !isAtomic && (semantic.empty() || semantic == "weak");
  access.semantic = semantic == "acquire"   ? Semantic::Acquire
                    : semantic == "release" ? Semantic::Release
                    : semantic == "acq_rel" ? Semantic::AcqRel
                                            : Semantic::Relaxed;
  access.scope = isOfSystem ? Scope::Sys : scope.value_or(Scope::Gpu);
  bool needsScope = !isAtomic && !access.isWeak && !isOfSystem;
  if (needsScope && !scope) a.fail("`." + semantic.str() + "` needs a scope");
  if (access.isWeak && scope) a.fail("a scope needs `.relaxed`, `.acquire` or `.release`");
  return access;
}

Register address(Assembler& a, size_t i, const PtxAccess& access, int64_t bytes) {
  const ptx::Operand& operand = a.operand(i);
  if (operand.kind != ptx::Operand::Kind::Address) a.fail("operand " + std::to_string(i) + " must be an address");
  uint64_t offset = static_cast<uint64_t>(operand.offset) + static_cast<uint64_t>(bytes);
  PtxType t = access.isShared ? kWord : kWide;
  Register base = a.bits(operand.parts[0], t, Width::Wider);
  if (offset) base = a.binaryWith(BinaryOp::AddI, base, offset);
  return access.isShared ? a.emit({Op::SmemAt, 0, Elem::I32}, {base}, Elem::I64) : base;
}

void addMemory(PtxTable& table) {
  using Effect = PtxRow::Effect;
  table["ld"] = {load, Effect::Memory};
  table["ldu"] = {load, Effect::Memory};
  table["st"] = {store, Effect::Memory};
  table["discard"] = {discard, Effect::Memory};
  table["multimem"] = {multimem, Effect::Memory};
  table["cp"] = {copy, Effect::Threads};
  table["createpolicy"] = {createPolicy};
  for (const char* name : {"prefetch", "prefetchu", "applypriority"}) table[name] = {hint};
}

}  // namespace tandem::lower
