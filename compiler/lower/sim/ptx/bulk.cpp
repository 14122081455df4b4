// mbarrier and the bulk copies between global and shared memory, through the instructions that the language's own
// functions have.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

constexpr PtxType kWord{'b', Elem::I32, 32, 1}, kPredicate{'p', Elem::I1, 1, 1};
constexpr PtxAccess kShared{.isShared = true}, kGlobal{};

bool takeShared(Assembler& a) { return !a.takeOneOf({"shared::cta", "shared::cluster", "shared"}).empty(); }

// Only parity tells phases apart, so the state that an arrival gives means nothing to a wait.
void arrive(Assembler& a, const PtxAccess& access) {
  bool expects = a.take("expect_tx");
  a.take("release");
  a.expectOperands(2 + expects, 2 + expects);
  Register bytes = expects ? a.value(2, kWord) : kNone;
  a.emitOnly({Op::MbarrierArrive, 0, Elem::I64}, {address(a, 1, access), bytes}, imm::MbarrierArrive{.arrives = 1});
  a.write(0, a.constant(Elem::I64, 0), {'b', Elem::I64, 64, 1});
}

void wait(Assembler& a, const PtxAccess& access) {
  if (!a.take("parity")) a.fail("the simulator waits by `.parity` only");
  a.take("acquire");
  a.expectOperands(3, 4);  // a time to wait may stand at the end
  Register complete = a.emit({Op::MbarrierTryWait, 0, Elem::I64}, {address(a, 1, access), a.value(2, kWord)}, Elem::I1);
  a.write(0, complete, kPredicate);
}

void barrier(Assembler& a) {
  if (a.onTile()) a.fail("the simulator has it for threads only");
  // `.expect_tx` is an operation, and how `.arrive` counts bytes, too.
  llvm::StringRef what = a.takeOneOf({"arrive", "init", "inval", "expect_tx", "try_wait", "test_wait"});
  PtxAccess access;
  access.isShared = takeShared(a);
  a.takeOneOf({"cta", "cluster"});
  if (a.takeType().bits != 64) a.fail("it is of `.b64`");
  if (what == "arrive") return arrive(a, access);
  if (what == "try_wait" || what == "test_wait") return wait(a, access);
  bool hasCount = what == "init" || what == "expect_tx";
  a.expectOperands(1 + hasCount, 1 + hasCount);
  Register at = address(a, 0, access);
  if (what == "init") return a.emitOnly({Op::MbarrierInit, 0, Elem::I64}, {at, a.value(1, kWord)});
  if (what == "inval") return a.emitOnly({Op::MbarrierInvalidate, 0, Elem::I64}, {at});
  if (what != "expect_tx") a.fail("the simulator has no such operation on mbarriers");
  a.emitOnly({Op::MbarrierArrive, 0, Elem::I64}, {at, a.value(1, kWord)}, imm::MbarrierArrive{.arrives = 0});
}

// The coordinates of the operand [map, {c0, c1, ...}], innermost first.
llvm::SmallVector<Register> coordinates(Assembler& a, size_t i, llvm::SmallVector<Register> before) {
  const auto& parts = a.operand(i).parts;
  if (parts.size() != 2 || parts[1].kind != ptx::Operand::Kind::Vector) a.fail("it needs a tensor map's coordinates");
  for (const ptx::Operand& part : parts[1].parts) before.push_back(a.bits(part, kWord));
  return before;
}

void copyTensor(Assembler& a, bool loads, bool hasHint) {
  a.take("tile");
  a.expectOperands(2 + loads, 2 + loads + hasHint);
  if (loads)
    return a.emitOnly({Op::TmaLoad, 0, Elem::I64},
                      coordinates(a, 1, {address(a, 1, kGlobal), address(a, 0, kShared), address(a, 2, kShared)}));
  a.emitOnly({Op::TmaStore, 0, Elem::I64}, coordinates(a, 0, {address(a, 0, kGlobal), address(a, 1, kShared)}));
}

}  // namespace

void copyBulk(Assembler& a) {
  if (a.onTile()) a.fail("the simulator has it for threads only");
  bool isTensor = a.take("tensor");
  if (isTensor && a.takeOneOf({"1d", "2d", "3d", "4d", "5d"}).empty()) a.fail("it needs `.1d` to `.5d`");
  bool loads = !a.isFirst("global"), hasHint = a.take("L2::cache_hint");
  if (!a.take("global") || !takeShared(a))
    a.fail("of bulk copies the simulator has those between global and shared memory");
  if (!a.take(loads ? "mbarrier::complete_tx::bytes" : "bulk_group"))
    a.fail("a load completes by `.mbarrier::complete_tx::bytes`, a store by `.bulk_group`");
  if (isTensor) return copyTensor(a, loads, hasHint);
  a.expectOperands(3 + loads, 3 + loads + hasHint);
  Register bytes = a.value(2, kWord);
  if (loads)
    return a.emitOnly({Op::BulkLoad, 0, Elem::I64},
                      {address(a, 0, kShared), address(a, 1, kGlobal), bytes, address(a, 3, kShared)});
  a.emitOnly({Op::BulkStore, 0, Elem::I64}, {address(a, 0, kGlobal), address(a, 1, kShared), bytes});
}

// A thread's own copies. `ca` and `cg` differ by caches, not in memory.
void copyOfThread(Assembler& a) {
  if (a.onTile()) a.fail("the simulator has it for threads only");
  if (a.take("commit_group")) return a.emitOnly({Op::CopyCommit}, {});
  bool all = a.take("wait_all");
  if (all || a.take("wait_group")) {
    a.expectOperands(all ? 0 : 1, all ? 0 : 1);
    if (all) a.emitOnly({Op::CopyCommit}, {});
    return a.emitOnly({Op::CopyWait}, {}, imm::CopyWait{.pending = all ? 0 : int64_t(a.immediate(0))});
  }
  if (a.takeOneOf({"ca", "cg"}).empty()) a.fail("it needs `.ca` or `.cg`");
  if (!takeShared(a) || !a.take("global")) a.fail("it copies from `.global` to `.shared`");
  a.expectOperands(3, 4);
  int64_t bytes = a.immediate(2);
  if (bytes != 4 && bytes != 8 && bytes != 16) a.fail("it copies 4, 8 or 16 bytes");
  Register read = a.operandCount() > 3 ? a.value(3, kWord) : kNone;
  a.emitOnly({Op::CopyAsync, 0, Elem::I64}, {address(a, 0, kShared), address(a, 1, kGlobal), read},
             imm::CopyAsync{.bytes = bytes});
}

void addBulk(PtxTable& table) { table["mbarrier"] = {barrier, PtxRow::Effect::Threads}; }

}  // namespace tandem::lower
