// Control flow: uniform jumps and lane masks.
#include "interpreter/simt/bulk_copy.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"
#include "interpreter/vm/spin.h"

namespace tandem::interpreter {
namespace {

void narrow(Run& run, const uint8_t* condition, bool keepWhen) {
  LaneMask& mask = run.mask;
  if (mask.all) mask.bytes.assign(run.lanes, 1);
  mask.all = false;
  mask.active = 0;
  for (uint32_t lane = 0; lane < run.lanes; ++lane) {
    mask.bytes[lane] &= uint8_t((condition[lane] != 0) == keepWhen);
    mask.active += mask.bytes[lane];
  }
  mask.all = mask.active == run.lanes;
}

Step jumpTo(Run& run, int64_t target) {
  run.pc = uint32_t(target);
  return Step::Jumped;
}

// A uniform condition in per-thread control: all lanes agree.
const uint8_t* laneCondition(Machine& m, Run& run, const Prepared& i, std::vector<uint8_t>& storage) {
  const uint8_t* condition = data(m, run, i.a);
  if (isLanes(run, i.a)) return condition;
  storage.assign(run.lanes, *condition);
  return storage.data();
}

}  // namespace

namespace handlers {

Step jump(Machine&, Run& run, const Prepared& i) { return jumpTo(run, i.as<imm::Jump>().target); }
Step jumpBack(Machine&, Run& run, const Prepared& i) {
  beginInnerLoops(run, i);
  return jumpTo(run, i.as<imm::Jump>().target);
}
Step jumpSpin(Machine& m, Run& run, const Prepared& i) { return backEdge(m, run, i); }
Step loopBack(Machine& m, Run& run, const Prepared& i) { return backEdge(m, run, i); }

Step branch(Machine& m, Run& run, const Prepared& i) {
  return *data(m, run, i.a) & 1 ? Step::Next : jumpTo(run, i.as<imm::Jump>().target);
}

Step forTest(Machine& m, Run& run, const Prepared& i) {
  return integer(m, run, i.a) >= integer(m, run, i.b) ? jumpTo(run, i.as<imm::Jump>().target) : Step::Next;
}

Step returnOp(Machine& m, Run& run, const Prepared&) {
  return m.bulkStates.empty() || finishBulkCopies(m, run) ? Step::Finished : Step::Failed;
}

Step ifBegin(Machine& m, Run& run, const Prepared& i) {
  std::vector<uint8_t> storage;
  const uint8_t* condition = laneCondition(m, run, i, storage);
  uint32_t elsePc = uint32_t(i.as<imm::Jump>().target);
  const Prepared& second = run.prepared->code[elsePc];
  uint32_t endPc = second.op == Op::IfElse ? uint32_t(second.as<imm::Jump>().target) : elsePc;
  run.maskStack.push_back({run.mask, elsePc, endPc, ++run.lastIfId});
  narrow(run, condition, true);
  return run.mask.active || run.mask.all ? Step::Next : jumpTo(run, i.as<imm::Jump>().target);
}

Step ifElse(Machine& m, Run& run, const Prepared& i) {
  MaskEntry& entry = run.maskStack.back();
  if (entry.split) return jumpTo(run, i.as<imm::Jump>().target);
  entry.elsePc = MaskEntry::kNoElse;
  // The lanes of the pushed mask that are not in the current one: those that did not take the first branch.
  std::vector<uint8_t> taken = run.mask.bytes;
  bool all = run.mask.all;
  taken.resize(run.lanes);
  run.mask = entry.mask;
  if (all) taken.assign(run.lanes, 1);
  narrow(run, taken.data(), false);
  return run.mask.active ? Step::Next : jumpTo(run, i.as<imm::Jump>().target);
}

Step ifEnd(Machine& m, Run& run, const Prepared&) {
  if (Step step = joinAtEnd(m, run); step != Step::Next) return step;
  run.mask = std::move(run.maskStack.back().mask);
  run.maskStack.pop_back();
  return Step::Next;
}

Step loopBegin(Machine&, Run& run, const Prepared&) {
  run.maskStack.push_back({.mask = run.mask, .id = ++run.lastIfId, .isLoop = true});
  return Step::Next;
}

Step loopTest(Machine& m, Run& run, const Prepared& i) {
  run.maskStack.back().endPc = uint32_t(i.as<imm::Jump>().target);
  std::vector<uint8_t> storage;
  const uint8_t* condition = laneCondition(m, run, i, storage);
  narrow(run, condition, true);
  return run.mask.active || run.mask.all ? Step::Next : jumpTo(run, i.as<imm::Jump>().target);
}

Step loopEnd(Machine& m, Run& run, const Prepared& i) { return ifEnd(m, run, i); }

}  // namespace handlers
}  // namespace tandem::interpreter
