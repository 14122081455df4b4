// This file has barriers, fences, and instructions that let time pass.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

bool namesAllLanes(Assembler& a, size_t i) { return static_cast<uint32_t>(a.immediate(i)) == 0xffffffffu; }

// A barrier without a count is one of all threads, whatever its number.
void barrier(Assembler& a) {
  if (a.take("warp")) {
    if (!a.take("sync")) a.fail("it needs `.sync`");
    a.expectOperands(1, 1);
    if (!namesAllLanes(a, 0)) a.fail("the simulator has a barrier of all 32 threads of a warp only");
    return a.emitOnly({Op::WarpBarrier}, {});
  }
  a.take("cta");
  a.take("aligned");
  bool arrives = a.take("arrive");
  if (!arrives && !a.take("sync")) a.fail("it needs `.sync` or `.arrive`");
  a.expectOperands(1 + arrives, 2);
  uint64_t id = a.immediate(0);
  if (id > 15) a.fail("there are barriers 0 to 15");
  if (a.operandCount() == 1) return a.emitOnly({Op::ThreadBarrier}, {});
  uint64_t threads = a.immediate(1);
  if (threads > 1024) a.fail("there are at most 1024 threads");
  a.emitOnly({Op::NamedBarrier}, {},
             imm::NamedBarrier{
                 .id = static_cast<int64_t>(id), .threads = static_cast<int64_t>(threads), .arriveOnly = arrives});
}

void emitFence(Assembler& a, Semantic semantic, Scope scope) {
  a.emitOnly({Op::ThreadFence}, {},
             imm::ThreadFence{.semantic = static_cast<int64_t>(semantic), .scope = static_cast<int64_t>(scope)});
}

void memoryBarrier(Assembler& a) {
  llvm::StringRef scope = a.takeOneOf({"cta", "gl", "sys"});
  if (scope.empty()) a.fail("it needs `.cta`, `.gl` or `.sys`");
  emitFence(a, Semantic::SeqCst, scope == "cta" ? Scope::Cta : scope == "gl" ? Scope::Gpu : Scope::Sys);
}

// Against bulk copies, of all memory or of shared memory.
void proxyFence(Assembler& a) {
  if (!a.take("async")) a.fail("of proxies it has `.async`");
  bool isShared = a.take("shared::cta");
  a.take("global");
  a.emitOnly({Op::ProxyFence}, {}, imm::ProxyFence{.kind = isShared});
}

void fence(Assembler& a) {
  a.expectOperands(0, 0);
  if (a.take("proxy")) return proxyFence(a);
  llvm::StringRef semantic = a.takeOneOf({"sc", "acq_rel"});
  std::optional<Scope> scope = takeScope(a);
  if (!scope) a.fail("it needs `.cta`, `.cluster`, `.gpu` or `.sys`");
  emitFence(a, semantic == "sc" ? Semantic::SeqCst : Semantic::AcqRel, *scope);
}

void gridControl(Assembler& a) {
  bool waits = a.take("wait");
  if (!waits && !a.take("launch_dependents")) a.fail("it needs `.wait` or `.launch_dependents`");
  a.emitOnly({Op::GridControl}, {}, imm::GridControl{.waits = waits});
}

// An instruction about time changes nothing in memory.
void pass(Assembler& a) { a.takePrefixed(""); }

void trap(Assembler& a) {
  a.emitOnly({Op::Assert, 0, Elem::I1}, {a.constant(Elem::I1, 0), a.mask()},
             imm::Assert{.message = a.build().string("the kernel has come to `trap`")});
}

}  // namespace

void addThreads(PtxTable& table) {
  using Effect = PtxRow::Effect;
  table["bar"] = {barrier, Effect::Threads};
  table["barrier"] = {barrier, Effect::Threads};
  table["membar"] = {memoryBarrier, Effect::Threads};
  table["fence"] = {fence, Effect::Threads};
  table["trap"] = {trap, Effect::Memory};
  table["nanosleep"] = {pass};
  table["griddepcontrol"] = {gridControl, Effect::Memory};
}

}  // namespace tandem::lower
