// put, put_signal, get and put_value: checked when called, delivered when the seed says (M8, M9, M10).
#include "interpreter/dist/delivery.h"
#include "interpreter/dist/team.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

// One call's operands, resolved and checked.
struct Transfer {
  Address dest = 0, source = 0;
  uint64_t bytes = 0;
  int peer = 0;
};

bool transferOf(Machine& m, Run& run, const Prepared& i, uint32_t lane, Register peerRegister, bool isGet,
                const char* what, Transfer& t) {
  int peer = peerOf(m, run, i, integer(m, run, peerRegister, lane));
  int64_t bytes = integer(m, run, i.c, lane);
  Address dest = rawInteger(m, run, i.a, lane), source = rawInteger(m, run, i.b, lane);
  if (peer < 0) return false;
  if (bytes < 0) {
    fail(m, run, i, ReportKind::OutOfBounds, std::string(what) + " of " + std::to_string(bytes) + " bytes");
    return false;
  }
  t.bytes = uint64_t(bytes);
  t.peer = peer;
  Address& remote = isGet ? source : dest;
  if (t.bytes && !checkSymmetric(m, run, i, remote, what)) return false;
  if (t.bytes) remote = m.arena.at(remote, t.peer);
  t.dest = dest;
  t.source = source;
  return true;
}

// Puts report the source's faults where they are called, even when the bytes are read later.
bool checkEnds(Accessor& who, const Transfer& t) {
  who.copies = true;
  return checkMemory(who, t.source, t.bytes, 1, false, true) && checkMemory(who, t.dest, t.bytes, 1, true, false);
}

std::unique_ptr<PendingPut> pendingOf(Accessor& who, Run& run, const Prepared& i, const Transfer& t) {
  Machine& m = who.m;
  auto p = std::make_unique<PendingPut>();
  p->dest = t.dest;
  p->source = t.source;
  p->bytes = t.bytes;
  p->peer = t.peer;
  p->location = i.location;
  p->lane = who.lane;
  Run::Puts& puts = run.puts[size_t(t.peer)];
  p->arrivesNs = std::max(run.clockNs + m.clock.puts(t.bytes, /*toPeer=*/true), puts.fencedNs);
  puts.arrivedNs = std::max(puts.arrivedNs, p->arrivesNs);
  return p;
}

bool captureNow(Accessor& who, PendingPut& p) {
  p.captured.resize(p.bytes);
  p.hasCapture = true;
  if (!readMemory(who, p.source, p.captured.data(), p.bytes, 1)) return false;
  p.unwritten = who.unwritten;
  return true;
}

void traceMove(Machine& m, Run& run, const Prepared& i, SpanKind kind, const Transfer& t, bool nbi, const char* name,
               std::string signal = {}) {
  int64_t began = run.clockNs, took = kind == SpanKind::Get ? m.clock.gets(t.bytes, true) : m.clock.puts(t.bytes, true);
  span(m, run, kind, began, began + took, name, i.location, t.peer, t.bytes, std::move(signal));
  if (!nbi) pauseCompute(m, run, began, began + took);
  run.clockNs += nbi ? m.clock.startsTransfer() : took;
}

void noteUnfinished(Run& run, const Prepared& i, int peer) {
  Run::Puts& puts = run.puts[size_t(peer)];
  ++puts.unfinished;
  puts.location = i.location;
}

}  // namespace

namespace handlers {

Step put(Machine& m, Run& run, const Prepared& i) {
  bool nbi = i.as<imm::Put>().nbi != 0;
  if (m.observer) m.observer->groupMeets(run, Group(i.as<imm::Put>().group));
  bool ok = eachCaller(m, run, i, Group(i.as<imm::Put>().group), false, "`put`", [&](uint32_t lane) {
    Transfer t;
    Accessor who(m, run, i);
    who.lane = observedThread(run, i, Group(i.as<imm::Put>().group), lane);
    if (!transferOf(m, run, i, lane, i.operands[3], false, "`put`", t) || !checkEnds(who, t)) return false;
    m.counters.putBytes += t.bytes;
    auto p = pendingOf(who, run, i, t);
    if (!nbi && !captureNow(who, *p)) return false;
    if (nbi) noteUnfinished(run, i, t.peer);
    traceMove(m, run, i, SpanKind::Put, t, nbi, "put");
    queuePut(m, run, std::move(p));
    return true;
  });
  return ok ? Step::Next : Step::Failed;
}

Step putSignal(Machine& m, Run& run, const Prepared& i) {
  bool nbi = i.as<imm::PutSignal>().nbi != 0;
  SignalKind kind = SignalKind(i.as<imm::PutSignal>().kind);
  if (m.observer) m.observer->groupMeets(run, Group(i.as<imm::PutSignal>().group));
  bool ok = eachCaller(
      m, run, i, Group(i.as<imm::PutSignal>().group), kind == SignalKind::Add, "`put_signal`", [&](uint32_t lane) {
        Transfer t;
        Accessor who(m, run, i);
        who.lane = observedThread(run, i, Group(i.as<imm::PutSignal>().group), lane);
        if (!transferOf(m, run, i, lane, i.operands[5], false, "`put_signal`", t) || !checkEnds(who, t)) return false;
        Address signal = rawInteger(m, run, i.operands[3], lane);
        if (!checkSymmetric(m, run, i, signal, "a signal")) return false;
        m.counters.putBytes += t.bytes;
        auto p = pendingOf(who, run, i, t);
        p->hasSignal = true;
        p->signal = m.arena.at(signal, t.peer);
        p->signalValue = rawInteger(m, run, i.operands[4], lane);
        p->signalKind = kind;
        if (!checkMemory(who, p->signal, 8, 8, true, false)) return false;
        if (!nbi && !captureNow(who, *p)) return false;
        traceMove(m, run, i, SpanKind::Put, t, nbi, "put_signal", signalWords(m, p->signal));
        queuePut(m, run, std::move(p));
        return true;
      });
  return ok ? Step::Next : Step::Failed;
}

Step get(Machine& m, Run& run, const Prepared& i) {
  bool nbi = i.as<imm::Get>().nbi != 0;
  if (m.observer) m.observer->groupMeets(run, Group(i.as<imm::Get>().group));
  bool ok = eachCaller(m, run, i, Group(i.as<imm::Get>().group), false, "`get`", [&](uint32_t lane) {
    Transfer t;
    Accessor who(m, run, i);
    who.lane = observedThread(run, i, Group(i.as<imm::Get>().group), lane);
    if (!transferOf(m, run, i, lane, i.operands[3], true, "`get`", t) || !checkEnds(who, t)) return false;
    m.counters.getBytes += t.bytes;
    auto p = pendingOf(who, run, i, t);
    traceMove(m, run, i, SpanKind::Get, t, nbi, "get");
    if (nbi) {
      p->isGet = true;
      noteUnfinished(run, i, t.peer);
      queuePut(m, run, std::move(p));
      return true;
    }
    return captureNow(who, *p) && writeMemory(who, t.dest, p->captured.data(), t.bytes, 1);
  });
  return ok ? Step::Next : Step::Failed;
}

Step putValue(Machine& m, Run& run, const Prepared& i) {
  unsigned bytes = run.info(i.b).elemBytes;
  if (m.observer) m.observer->groupMeets(run, Group::Thread);
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`put_value`", [&](uint32_t lane) {
    int peer = peerOf(m, run, i, integer(m, run, i.c, lane));
    Address dest = rawInteger(m, run, i.a, lane);
    if (peer < 0 || !checkSymmetric(m, run, i, dest, "`put_value`")) return false;
    Accessor who(m, run, i);
    who.lane = observedThread(run, i, Group::Thread, lane);
    Transfer t{m.arena.at(dest, peer), 0, bytes, peer};
    if (!checkMemory(who, t.dest, bytes, bytes, true, false)) return false;
    auto p = pendingOf(who, run, i, t);
    const uint8_t* value = data(m, run, i.b) + (isLanes(run, i.b) ? lane * bytes : 0);
    p->captured.assign(value, value + bytes);
    p->hasCapture = true;
    m.counters.putBytes += bytes;
    queuePut(m, run, std::move(p));
    return true;
  });
  return ok ? Step::Next : Step::Failed;
}

}  // namespace handlers
}  // namespace tandem::interpreter
