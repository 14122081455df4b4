// ld, st and the multimem pair: each thread's scalar or vector, or each element of a tile, aligned to its size.
#include "interpreter/dist/team.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"

namespace tandem::interpreter {
namespace {

Accessor strong(Machine& m, Run& run, const Prepared& i, Register value) {
  Accessor who(m, run, i);
  who.type = run.info(value).elem;
  who.semantic = Semantic(i.as<imm::Ld>().semantic);
  who.scope = Scope(i.as<imm::Ld>().scope);
  who.synchronises = !(i.immediateCount > 2 && i.as<imm::Ld>().weak);
  if (run.prepared->program->perThread && run.mask.all && run.info(i.a).extent != Extent::Tile) who.lane = kEachThread;
  return who;
}

// Calls body(element) where the tile's mask, operand `mask`, is true or missing; ends when it says false.
template <class Body> bool eachElement(Machine& m, Run& run, const Prepared& i, uint32_t mask, Body body) {
  const uint8_t* active = i.operandCount > mask && i.operands[mask] != kNone ? data(m, run, i.operands[mask]) : nullptr;
  for (size_t k = 0; k < run.count(i.a); ++k)
    if ((!active || active[k]) && !body(k)) return false;
  return true;
}

Step ldTile(Machine& m, Run& run, const Prepared& i, Accessor& who) {
  unsigned bytes = run.info(i.r).elemBytes;
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachElement(m, run, i, 1, [&](size_t k) {
    if (!readMemory(who, pointers[k], result.data() + k * bytes, bytes, bytes)) return false;
    if (who.synchronises) noteLook(m, run.info(i.r).elem, pointers[k], bytes);
    return true;
  });
  if (!ok) return Step::Failed;
  chargeLoad(m, run, registerBytes(run, i.r), m.arena.rankOf(pointers[0]));
  result.commit();
  return Step::Next;
}

Step stTile(Machine& m, Run& run, const Prepared& i, Accessor& who) {
  unsigned bytes = run.info(i.b).elemBytes;
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  const uint8_t* values = data(m, run, i.b);
  SameStores same(who);
  bool ok = eachElement(m, run, i, 2, [&](size_t k) {
    same.next(pointers[k], values + k * bytes, bytes);
    if (!writeMemory(who, pointers[k], values + k * bytes, bytes, bytes)) return false;
    if (who.synchronises) recordWriter(who, pointers[k], bytes);
    return true;
  });
  if (!ok) return Step::Failed;
  chargeStore(m, run, registerBytes(run, i.b), m.arena.rankOf(pointers[0]));
  return Step::Next;
}

// More than four elements travel as words of 4 bytes.
uint32_t elementOf(const RegisterInfo& vector) {
  return vector.vectorLength == 1 ? 0 : vector.vectorLength > 4 ? 4 : vector.elemBytes;
}

// The ranks behind a multicast address, as addresses. Empty after a report.
std::vector<Address> multicastTargets(Machine& m, Run& run, const Prepared& i, Address address) {
  std::vector<Address> targets;
  int team;
  uint64_t offset;
  if (!m.arena.resolveMulticast(address, &team, &offset)) {
    fail(m, run, i, ReportKind::OutOfBounds,
         address & kStray ? "`multicast_at` needs a symmetric address, but " + notSymmetricText(m, address, run.team)
                          : "`multimem` needs a multicast address, but got " + addressText(m, address, 0));
    return targets;
  }
  for (int rank : *m.team(team, run.rank))
    targets.push_back(m.arena.base() + uint64_t(rank) * m.arena.stride() + offset);
  return targets;
}

}  // namespace

namespace handlers {

Step ld(Machine& m, Run& run, const Prepared& i) {
  Accessor who = strong(m, run, i, i.r);
  if (run.info(i.a).extent == Extent::Tile) return ldTile(m, run, i, who);
  const RegisterInfo& to = run.info(i.r);
  unsigned bytes = to.elemBytes * to.vectorLength;
  who.elementBytes = elementOf(to);
  if (!isLanes(run, i.a)) {
    Address address = rawInteger(m, run, i.a);
    if (!run.mask.all) who.threads = &run.mask;
    Result result(m, run, i.r);
    if (!readMemory(who, address, result.data(), bytes, bytes)) return Step::Failed;
    if (who.synchronises) noteLook(m, to.elem, address, bytes);
    for (uint64_t at = bytes; at < registerBytes(run, i.r); at += bytes)
      memcpy(result.data() + at, result.data(), bytes);
    result.commit();
    return Step::Next;
  }
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  Result result(m, run, i.r);
  uint8_t* out = result.data();
  if (!run.mask.all) memset(out, 0, registerBytes(run, i.r));
  for (uint32_t lane = 0; lane < run.lanes; ++lane) {
    if (!run.laneActive(lane)) continue;
    who.lane = lane;
    if (!readMemory(who, pointers[lane], out + lane * bytes, bytes, bytes)) return Step::Failed;
    if (who.synchronises) noteLook(m, to.elem, pointers[lane], bytes);
  }
  chargeLoad(m, run, uint64_t(run.activeLanes()) * bytes, m.arena.rankOf(pointers[run.firstActiveLane() % run.lanes]));
  result.commit();
  return Step::Next;
}

Step st(Machine& m, Run& run, const Prepared& i) {
  Accessor who = strong(m, run, i, i.b);
  if (run.info(i.a).extent == Extent::Tile) return stTile(m, run, i, who);
  const RegisterInfo& from = run.info(i.b);
  unsigned bytes = from.elemBytes * from.vectorLength;
  who.elementBytes = elementOf(from);
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  const uint8_t* values = data(m, run, i.b);
  bool pointerLanes = isLanes(run, i.a), valueLanes = isLanes(run, i.b);
  // One address and one value: that every thread stores it again changes nothing.
  bool once = !pointerLanes && !valueLanes;
  if (once && !run.mask.all && !who.synchronises) who.threads = &run.mask;
  SameStores same(who);
  bool record = bytes <= 8 && run.activeLanes() <= 32;
  for (uint32_t lane = once ? run.firstActiveLane() : 0; lane < run.lanes; ++lane) {
    if (!run.laneActive(lane)) continue;
    if (!once) who.lane = lane;
    Address address = pointers[pointerLanes ? lane : 0];
    const uint8_t* value = values + (valueLanes ? lane * bytes : 0);
    if (!once) same.next(address, value, bytes);
    if (!writeMemory(who, address, value, bytes, bytes)) return Step::Failed;
    if (record || once) recordWriter(who, address, std::min(bytes, 8u));
    if (once) break;
  }
  chargeStore(m, run, uint64_t(once ? 1 : run.activeLanes()) * bytes, m.arena.rankOf(pointers[0]));
  return Step::Next;
}

Step multimemSt(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  const RegisterInfo& from = run.info(i.b);
  unsigned bytes = from.elemBytes * from.vectorLength;
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  const uint8_t* values = data(m, run, i.b);
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`multimem_st`", [&](uint32_t lane) {
    who.lane = lane;
    std::vector<Address> targets = multicastTargets(m, run, i, pointers[isLanes(run, i.a) ? lane : 0]);
    for (Address target : targets)
      if (!writeMemory(who, target, values + (isLanes(run, i.b) ? lane * bytes : 0), bytes, bytes)) return false;
    return !targets.empty();
  });
  return ok ? Step::Next : Step::Failed;
}

Step multimemLdReduce(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  const RegisterInfo& to = run.info(i.r);
  unsigned bytes = to.elemBytes * to.vectorLength;
  bool half = to.elem == Elem::F16 || to.elem == Elem::BF16;  // summed in fp32, rounded once
  UnaryKernel widen = half ? convertKernel(ConvertOp::FToF, to.elem, Elem::F32) : nullptr;
  UnaryKernel narrow = half ? convertKernel(ConvertOp::FToF, Elem::F32, to.elem) : nullptr;
  BinaryKernel add = binaryKernel(BinaryOp::AddF, half ? Elem::F32 : to.elem);
  if (!add) add = binaryKernel(BinaryOp::AddI, to.elem);
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`multimem_ld_reduce`", [&](uint32_t lane) {
    who.lane = lane;
    std::vector<Address> targets = multicastTargets(m, run, i, pointers[isLanes(run, i.a) ? lane : 0]);
    uint8_t* out = result.data() + (isLanes(run, i.r) ? lane * bytes : 0);
    alignas(16) uint8_t read[256], part[512], sum[512];
    for (size_t k = 0; k < targets.size(); ++k) {
      if (!readMemory(who, targets[k], read, bytes, bytes)) return false;
      if (half)
        widen(read, k ? part : sum, to.vectorLength);
      else
        memcpy(k ? part : sum, read, bytes);
      if (k) add(sum, part, sum, to.vectorLength);
    }
    if (half)
      narrow(sum, out, to.vectorLength);
    else
      memcpy(out, sum, bytes);
    return !targets.empty();
  });
  if (!ok) return Step::Failed;
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
