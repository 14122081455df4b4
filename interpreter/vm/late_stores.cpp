#include "interpreter/vm/late_stores.h"
#include "interpreter/memory/access.h"
#include "interpreter/memory/observer.h"
#include "interpreter/op_kinds.h"
#include "interpreter/vm/pointers.h"
#include "interpreter/vm/registers.h"
#include <algorithm>
#include <utility>

namespace tandem::interpreter {
namespace {

constexpr uint32_t kMostLate = 4;      // stores of a program
constexpr uint32_t kMostPassing = 16;  // looks that go before them

// A store, or an update whose old value nobody uses, that orders nothing behind it.
bool isStrongStore(const Prepared& i) {
  bool isOne =
      (i.op == Op::St && (i.immediateCount <= 2 || !i.as<imm::St>().weak)) || (i.op == Op::AtomicRmw && !i.resultUsed);
  if (!isOne || i.c != kNone) return false;
  Semantic semantic = Semantic(i.as<imm::St>().semantic);
  return semantic == Semantic::Relaxed || semantic == Semantic::Release;
}

// Tile code updates once for all threads.
bool isPerThread(const Prepared& i) {
  return i.op == Op::St || (i.immediateCount > 2 && i.as<imm::AtomicRmw>().perThread);
}

bool isStrongLook(const Prepared& i) {
  if (i.op == Op::Ld) return i.immediateCount <= 2 || !i.as<imm::Ld>().weak;
  return i.op == Op::Load && i.immediateCount > 0 && i.as<imm::Load>().isVolatile;
}

// The address of the only store.
Address addressOf(Machine& m, Run& run, const Prepared& i) {
  return heapAddress(m, run.rank, rawInteger(m, run, i.a, isLanes(run, i.a) ? run.firstActiveLane() : 0));
}

}  // namespace

bool mayBeLate(Machine& m, Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  if (!isStrongStore(i) || run.info(i.a).extent == Extent::Tile || run.info(i.b).vectorLength != 1) return false;
  if (isPerThread(i) ? run.activeLanes() != 1 : isLanes(run, i.a) || isLanes(run, i.b)) return false;
  if (run.late.size() == kMostLate || Scope(i.as<imm::St>().scope) == Scope::Cta) return false;
  uint32_t bytes = run.info(i.b).elemBytes;
  Address address = addressOf(m, run, i);
  const Allocation* a = m.arena.find(address);
  return a && !a->freed && !a->shared && address + bytes <= a->end && address % bytes == 0;  // else told at the store
}

void takeLate(Machine& m, Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  uint32_t bytes = run.info(i.b).elemBytes, lane = run.firstActiveLane();
  // A store of all threads that there are is the tile code's, as in the store's own handler.
  bool isOfTile = !isPerThread(i) || (i.op == Op::St && run.mask.all && !isLanes(run, i.a) && !isLanes(run, i.b));
  Run::LateStore store{.at = &i,
                       .lane = isOfTile ? kTileCode : lane,
                       .bytes = bytes,
                       .address = addressOf(m, run, i),
                       .observed = m.observer ? m.observer->comesLate(run) : nullptr};
  memcpy(store.value.data(), data(m, run, i.b) + (isLanes(run, i.b) ? lane * bytes : 0), bytes);
  run.late.push_back(std::move(store));
  for (uint32_t k = 0; k < i.releaseCount && run.parked.empty(); ++k) setBuffer(m, run, i.releases[k], nullptr);
  ++run.pc;
  ++m.counters.instructions;
}

bool isPassed(const Prepared& i) {
  switch (i.op) {
    case Op::SymmAt:
    case Op::Reduce:
    case Op::Shuffle:
    case Op::Ballot:
    case Op::ThreadBarrier:
    case Op::WarpBarrier:
    case Op::SmemAlloc:
    case Op::SmemRead:
    case Op::SmemLoad:
    case Op::SmemStore:
    case Op::SmemIndex:
    case Op::SmemPtr: return true;
    case Op::ThreadFence: return Semantic(i.as<imm::ThreadFence>().semantic) != Semantic::SeqCst;
    default: return computes(i.op) || isControl(i.op);
  }
}

bool mayPass(Machine& m, Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  if (!isStrongLook(i)) return isPassed(i);
  if (run.passing.looks == kMostPassing) return false;
  uint64_t bytes = uint64_t(run.info(i.r).elemBytes) * run.info(i.r).vectorLength;
  Pointers pointers(m, run, i.a, i.b);
  return pointers.each(bytes, [&](size_t first, size_t count) {
    Address begin = heapAddress(m, run.rank, pointers.at[first]), end = begin + count * bytes;
    return std::none_of(run.late.begin(), run.late.end(),
                        [&](const Run::LateStore& s) { return begin < s.address + s.bytes && s.address < end; });
  });
}

void notePassing(Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  if (!run.late.empty() && isStrongLook(i))
    run.passing = {run.passing.looks + 1, run.late.front().at->location, i.location};
}

static bool doStore(Machine& m, Run& run, const Run::LateStore& store) {
  Accessor who(m, run, *store.at);
  who.type = run.info(store.at->b).elem;
  who.semantic = Semantic(store.at->as<imm::St>().semantic);
  who.scope = Scope(store.at->as<imm::St>().scope);
  who.synchronises = true;
  who.lane = store.lane;
  who.late = store.observed.get();
  if (store.at->op == Op::AtomicRmw) {
    std::array<uint8_t, 8> old{};
    return updateMemory(who, RmwOp(store.at->sub), *who.type, store.address, store.value.data(), old.data());
  }
  if (!writeMemory(who, store.address, store.value.data(), store.bytes, store.bytes)) return false;
  recordWriter(who, store.address, store.bytes);
  return true;
}

bool storeFirst(Machine& m, Run& run) {
  const Run::LateStore store = std::move(run.late.front());
  run.late.erase(run.late.begin());
  if (run.late.empty()) run.passing.looks = 0;
  // Whoever observes the store looks at its instruction.
  uint32_t pc = std::exchange(run.pc, uint32_t(store.at - run.prepared->code.data()));
  bool isDone = doStore(m, run, store);
  run.pc = pc;
  return isDone;
}

bool storeLate(Machine& m, Run& run) {
  while (!run.late.empty())
    if (!storeFirst(m, run)) return false;
  return !m.failed;
}

}  // namespace tandem::interpreter
