// notify, signal, fence and quiet (M5, M9, M11).
#include "interpreter/dist/delivery.h"
#include "interpreter/dist/team.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"

namespace tandem::interpreter {
namespace {

// Updates the signal at the peer's address that corresponds to `pointer`.
bool updateSignal(Machine& m, Run& run, const Prepared& i, uint32_t lane, SignalKind kind, Register value,
                  Register peerRegister, Semantic semantic, Scope scope) {
  int peer = peerOf(m, run, i, integer(m, run, peerRegister, lane));
  Address pointer = rawInteger(m, run, i.a, lane);
  if (peer < 0 || !checkSymmetric(m, run, i, pointer, "a signal")) return false;
  Accessor who(m, run, i);
  // A `notify` is the whole program's; an addition by each thread is the thread's own.
  bool isOwn = kind == SignalKind::Add && run.prepared->program->perThread;
  who.lane = semantic == Semantic::Release ? kTileCode : isOwn ? lane : observedThread(run, i, Group::Thread, lane);
  who.semantic = semantic;
  who.scope = scope;
  int64_t began = run.clockNs;
  run.clockNs += m.clock.signals(/*toPeer=*/peer != run.rank);
  who.timeNs = run.puts[size_t(peer)].fencedNs;  // behind what a fence orders before the signal
  Address there = m.arena.at(pointer, peer);
  span(m, run, SpanKind::Signal, began, run.clockNs, "signal", i.location, peer, 0, signalWords(m, there));
  return writeSignal(who, there, kind, rawInteger(m, run, value, lane), 8);
}

}  // namespace

namespace handlers {

Step notify(Machine& m, Run& run, const Prepared& i) {
  if (!checkGroup(m, run, i, Group::Block, "`notify`")) return Step::Failed;
  SignalKind kind = SignalKind(i.as<imm::Notify>().kind);
  return updateSignal(m, run, i, 0, kind, i.c, i.b, Semantic::Release, Scope(i.as<imm::Notify>().scope)) ? Step::Next
                                                                                                         : Step::Failed;
}

Step signalOp(Machine& m, Run& run, const Prepared& i) {
  SignalKind kind = SignalKind(i.as<imm::Signal>().kind);
  bool ok = eachCaller(m, run, i, Group::Thread, kind == SignalKind::Add, "`signal`", [&](uint32_t lane) {
    return updateSignal(m, run, i, lane, kind, i.b, i.c, Semantic::Relaxed, Scope::Sys);
  });
  return ok ? Step::Next : Step::Failed;
}

Step fence(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachPeer(m, run, i, i.a, [&](int peer) {
    fencePuts(run, peer);
    if (m.observer) m.observer->fence(run, peer);
    return true;
  });
  return ok ? Step::Next : Step::Failed;
}

Step quiet(Machine& m, Run& run, const Prepared& i) {
  int64_t began = run.clockNs;
  bool ok = eachPeer(m, run, i, i.a, [&](int peer) {
    if (!quietPuts(m, run, peer) || m.failed) return false;
    if (m.observer) m.observer->quiet(run, peer);
    return true;
  });
  if (run.clockNs > began) span(m, run, SpanKind::Wait, began, run.clockNs, "quiet", i.location);
  return ok ? Step::Next : Step::Failed;
}

}  // namespace handlers
}  // namespace tandem::interpreter
