// Carrying out bulk copies, and each thread's groups of bulk stores.
#include "interpreter/simt/bulk_copy.h"
#include "interpreter/dist/delivery.h"
#include "interpreter/dist/team.h"
#include "interpreter/simt/mbarrier.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

BulkState& stateOf(Machine& m, const Run& run) {
  BulkState& state = m.bulkStates[run.runId];
  for (auto* groups : {&state.stores, &state.ofThreads}) groups->committed.resize(run.lanes);
  return state;
}

Accessor accessorOf(Machine& m, const PendingPut& p) {
  Accessor who(m);
  who.transfer = &p;
  who.scope = Scope::Sys;
  who.rank = p.rank;
  who.id = p.id;
  who.program = p.program;
  who.location = p.location;
  who.timeNs = p.arrivesNs;
  who.transfer = &p;
  return who;
}

bool readPiece(Accessor& who, const BulkCopy& copy, const BulkCopy::Piece& piece, uint8_t* out) {
  if (copy.hasCapture) return memcpy(out, copy.captured.data() + piece.offset, piece.bytes), true;
  if (piece.source) return readMemory(who, piece.source, out, piece.bytes, 1);
  for (uint32_t at = 0; at < piece.bytes; at += copy.fillBytes)
    memcpy(out + at, &copy.fill, std::min(copy.fillBytes, piece.bytes - at));
  return true;
}

// Reads a store's bytes out of shared memory.
bool capture(Machine& m, const PendingPut& p) {
  BulkCopy& copy = *p.bulk;
  if (copy.hasCapture) return true;
  Accessor who = accessorOf(m, p);
  std::vector<uint8_t> bytes;
  for (BulkCopy::Piece& piece : copy.pieces) {
    piece.offset = uint32_t(bytes.size());
    bytes.resize(bytes.size() + piece.bytes);
    if (!readMemory(who, piece.source, bytes.data() + piece.offset, piece.bytes, 1)) return false;
  }
  copy.captured = std::move(bytes);
  copy.hasCapture = true;
  return true;
}

bool reportUnfinished(Machine& m, const PendingPut& p) {
  Accessor who = accessorOf(m, p);
  std::string what = p.bulk->isStore()                    ? "a bulk store still reads shared memory"
                     : p.bulk->kind == CopyKind::BulkLoad ? "a bulk load still writes shared memory"
                                                          : "an asynchronous copy still writes shared memory";
  return failAccess(who, ReportKind::UnfinishedBulkCopy, what + " when its program ends; wait for it before");
}

}  // namespace

void startBulkCopy(Machine& m, Run& run, const Prepared& i, uint32_t lane, BulkCopy copy, int peer) {
  BulkState& state = stateOf(m, run);
  auto put = std::make_unique<PendingPut>();
  bool toPeer = peer != run.rank;
  put->arrivesNs = run.clockNs + (copy.isStore() ? m.clock.puts(copy.bytes, toPeer) : m.clock.gets(copy.bytes, toPeer));
  put->location = i.location;
  put->lane = observedThread(run, i, Group::Thread, lane);
  put->peer = -1;
  put->lane = lane;
  put->bytes = copy.bytes;
  copy.lane = lane;
  if (copy.hasGroup()) {
    BulkState::Groups& groups = state.groups(copy.kind);
    copy.group = groups.committed[lane];
    int64_t& latest = groups.ns[{lane, copy.group}];
    latest = std::max(latest, put->arrivesNs);
  }
  const char* what = copy.isStore() ? "bulk store" : copy.hasGroup() ? "copy" : "bulk load";
  span(m, run, copy.isStore() ? SpanKind::Put : SpanKind::Get, run.clockNs, put->arrivesNs, what, i.location, peer,
       copy.bytes);
  run.clockNs += m.clock.startsTransfer();
  put->bulk = std::make_shared<BulkCopy>(std::move(copy));
  queuePut(m, run, std::move(put));
}

bool deliverPieces(Accessor& who, BulkCopy& copy, size_t end) {
  std::vector<uint8_t> bytes;
  for (; copy.done < end; ++copy.done) {
    const BulkCopy::Piece& piece = copy.pieces[copy.done];
    bytes.resize(piece.bytes);
    if (!readPiece(who, copy, piece, bytes.data()) || !writeMemory(who, piece.dest, bytes.data(), piece.bytes, 1))
      return false;
  }
  return true;
}

bool completeBulkCopy(Accessor& who, PendingPut& put) {
  BulkCopy& copy = *put.bulk;
  if (!deliverPieces(who, copy, copy.pieces.size())) return false;
  if (copy.hasGroup()) return true;
  int64_t& ready = who.m.bulkStates[put.runId].barrierNs[copy.barrier];
  ready = std::max(ready, put.arrivesNs);
  return completeBytes(who, copy.barrier, copy.bytes);
}

bool finishBulkCopies(Machine& m, Run& run) {
  if (m.bulkStates.erase(run.runId) == 0) return true;
  for (const auto& p : m.pending)
    if (p->bulk && p->runId == run.runId && !(p->bulk->isStore() && p->bulk->hasCapture))
      return reportUnfinished(m, *p);
  return deliverBulk(m, run, [](const PendingPut&) { return true; });
}

bool checkShared(Accessor& who, Address address, uint64_t bytes, unsigned align, bool write, const char* what) {
  if (!checkMemory(who, address, bytes, align, write, false)) return false;
  for (const auto& [pc, begin] : who.run->sharedBuffers)
    if (who.m.arena.find(begin) == who.m.arena.find(address)) return true;
  return failAccess(
      who, ReportKind::OutOfBounds,
      std::string(what) + " must lie in shared memory of the program, not at " + addressText(who.m, address, bytes));
}

namespace {

// Closes the group that each thread's copies of the kind have been in.
Step commit(Machine& m, Run& run, const Prepared& i, CopyKind kind, const char* call) {
  BulkState::Groups& groups = stateOf(m, run).groups(kind);
  bool ok = eachCaller(m, run, i, Group::Thread, true, call, [&](uint32_t lane) {
    ++groups.committed[lane];
    return true;
  });
  return ok ? Step::Next : Step::Failed;
}

// Completes each thread's groups of the kind but the last `pending`; with `read`, reads what these store.
Step waitGroups(Machine& m, Run& run, const Prepared& i, CopyKind kind, uint32_t pending, bool read, const char* call) {
  BulkState::Groups& groups = stateOf(m, run).groups(kind);
  int64_t readyNs = run.clockNs;
  bool ok = eachCaller(m, run, i, Group::Thread, true, call, [&](uint32_t lane) {
    if (groups.committed[lane] <= pending) return true;
    uint32_t end = groups.committed[lane] - pending;
    auto awaited = [=](const PendingPut& p) {
      return p.bulk->kind == kind && p.bulk->lane == lane && p.bulk->group < end;
    };
    if (read) {
      for (const auto& p : m.pending)
        if (p->bulk && p->runId == run.runId && awaited(*p) && !capture(m, *p)) return false;
      if (m.observer) m.observer->groupsWaited(run, kind, lane, end, true);
      return true;
    }
    auto first = groups.ns.lower_bound({lane, 0}), last = groups.ns.lower_bound({lane, end});
    for (auto it = first; it != last; ++it) readyNs = std::max(readyNs, it->second);
    groups.ns.erase(first, last);
    if (!deliverBulk(m, run, awaited)) return false;
    if (m.observer) m.observer->groupsWaited(run, kind, lane, end, false);
    return true;
  });
  if (!ok) return Step::Failed;
  if (readyNs > run.clockNs) span(m, run, SpanKind::Wait, run.clockNs, readyNs, "copies", i.location);
  run.clockNs = readyNs;
  return Step::Next;
}

}  // namespace

namespace handlers {

Step bulkCommit(Machine& m, Run& run, const Prepared& i) {
  return commit(m, run, i, CopyKind::BulkStore, "`cp_async_bulk_commit_group`");
}

Step copyCommit(Machine& m, Run& run, const Prepared& i) {
  return commit(m, run, i, CopyKind::OfThread, "`cp_async_commit_group`");
}

Step bulkWait(Machine& m, Run& run, const Prepared& i) {
  const auto& how = i.as<imm::BulkWait>();
  return waitGroups(m, run, i, CopyKind::BulkStore, uint32_t(how.pending), how.read != 0, "`cp_async_bulk_wait_group`");
}

Step copyWait(Machine& m, Run& run, const Prepared& i) {
  return waitGroups(m, run, i, CopyKind::OfThread, uint32_t(i.as<imm::CopyWait>().pending), false,
                    "`cp_async_wait_group`");
}

}  // namespace handlers
}  // namespace tandem::interpreter
