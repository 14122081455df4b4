// Completion of late puts: by chance, at a fence's order, at quiet, at a kernel's end.
#include "interpreter/dist/delivery.h"
#include "interpreter/memory/access.h"
#include "interpreter/simt/bulk_copy.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

Accessor accessorOf(Machine& m, const PendingPut& p) {
  Accessor who(m);
  who.rank = p.rank;
  who.id = p.id;
  who.program = p.program;
  who.location = p.location;
  who.timeNs = p.arrivesNs;
  who.transfer = &p;
  who.scope = Scope::Sys;
  who.copies = true;
  who.unwritten = p.unwritten;
  return who;
}

// Returns the rest of the ranges behind the first `part` bytes.
std::vector<ByteRange> behind(const std::vector<ByteRange>& ranges, uint64_t part) {
  std::vector<ByteRange> left;
  for (auto [begin, bytes] : ranges)
    if (uint64_t end = begin + bytes; end > part)
      left.push_back({std::max(begin, part) - part, end - std::max(begin, part)});
  return left;
}

bool complete(Machine& m, PendingPut& p) {
  Accessor who = accessorOf(m, p);
  if (p.bulk) return completeBulkCopy(who, p);
  if (p.bytes) {
    std::vector<uint8_t> late;
    const uint8_t* from = p.captured.data();
    if (!p.hasCapture) {
      late.resize(p.bytes);
      if (!readMemory(who, p.source, late.data(), p.bytes, 1)) return false;
      from = late.data();
    }
    if (!writeMemory(who, p.dest, from, p.bytes, 1)) return false;
  }
  return !p.hasSignal || writeSignal(who, p.signal, p.signalKind, p.signalValue, 8);
}

// A random first part of the data, so that a reader that does not wait can see a torn message.
bool completePart(Machine& m, PendingPut& p) {
  uint64_t part = p.bytes / 2 & ~uint64_t(7);
  Accessor who = accessorOf(m, p);
  if (p.bulk) return deliverPieces(who, *p.bulk, p.bulk->pieces.size() / 2);
  std::vector<uint8_t> late;
  const uint8_t* from = p.captured.data();
  if (!p.hasCapture) {
    late.resize(part);
    if (!readMemory(who, p.source, late.data(), part, 1)) return false;
    from = late.data();
  }
  if (!writeMemory(who, p.dest, from, part, 1)) return false;
  if (p.hasCapture) p.captured.erase(p.captured.begin(), p.captured.begin() + long(part));
  p.unwritten = behind(p.unwritten, part);
  p.dest += part;
  p.source += part;
  p.bytes -= part;
  return true;
}

bool earlierEpochPending(Machine& m, const PendingPut& p) {
  for (auto& other : m.pending)
    if (other->runId == p.runId && other->peer == p.peer && other->epoch < p.epoch) return true;
  return false;
}

std::unique_ptr<PendingPut> take(Machine& m, size_t index) {
  std::unique_ptr<PendingPut> p = std::move(m.pending[index]);
  m.pending[index] = std::move(m.pending.back());
  m.pending.pop_back();
  if (p->run->runId == p->runId) --p->run->pendingPuts;
  if (p->held) --m.heldPuts;
  return p;
}

template <class Which>
bool deliverWhere(Machine& m, Which which) {
  // Delivers in order of epochs; inside an epoch in an order of the seed.
  while (true) {
    std::vector<size_t> ready;
    uint32_t least = ~0u;
    for (size_t i = 0; i < m.pending.size(); ++i)
      if (which(*m.pending[i])) least = std::min(least, m.pending[i]->epoch);
    for (size_t i = 0; i < m.pending.size(); ++i)
      if (which(*m.pending[i]) && m.pending[i]->epoch == least) ready.push_back(i);
    if (ready.empty()) return true;
    std::unique_ptr<PendingPut> p = take(m, ready[m.random.below(uint32_t(ready.size()))]);
    if (!complete(m, *p)) return false;
  }
}

}  // namespace

void queuePut(Machine& m, Run& run, std::unique_ptr<PendingPut> put) {
  put->run = &run;
  put->runId = run.runId;
  put->rank = run.rank;
  put->epoch = put->bulk ? 0 : run.puts[size_t(put->peer)].fences;
  put->id = run.id;
  put->launch = run.launch;
  put->number = uint32_t(run.id[0] + run.grids[0] * (run.id[1] + run.grids[1] * run.id[2]));
  put->program = run.prepared->program.get();
  put->held = m.random.oneIn(3);
  if (put->held) ++m.heldPuts;
  ++run.pendingPuts;
  if (m.observer) m.observer->transferIssued(run, *put);
  m.pending.push_back(std::move(put));
}

bool deliverOne(Machine& m, bool includeHeld) {
  if (m.pending.size() == (includeHeld ? 0 : m.heldPuts)) return false;
  size_t start = m.random.below(uint32_t(m.pending.size()));
  for (size_t n = 0; n < m.pending.size(); ++n) {
    size_t i = (start + n) % m.pending.size();
    PendingPut& p = *m.pending[i];
    if ((p.held && !includeHeld) || (p.epoch && earlierEpochPending(m, p))) continue;
    if (!includeHeld && p.bytes >= 16 && m.random.oneIn(4)) return completePart(m, p);
    std::unique_ptr<PendingPut> taken = take(m, i);
    complete(m, *taken);
    return true;
  }
  return false;
}

bool mayArrive(Machine& m, const PendingPut& put) {
  return std::none_of(m.pending.begin(), m.pending.end(), [&](const auto& other) {
    return other->hasSignal && other->runId == put.runId && other->peer == put.peer && other->epoch < put.epoch;
  });
}

bool deliver(Machine& m, PendingPut& put) {
  auto earlier = [run = put.runId, peer = put.peer, epoch = put.epoch](const PendingPut& p) {
    return !p.bulk && p.runId == run && p.peer == peer && p.epoch < epoch;
  };
  if (!deliverWhere(m, earlier)) return false;
  size_t index =
      size_t(std::find_if(m.pending.begin(), m.pending.end(), [&](const auto& p) { return p.get() == &put; }) -
             m.pending.begin());
  return complete(m, *take(m, index));
}

bool deliverOneBulk(Machine& m) {
  auto found = std::find_if(m.pending.begin(), m.pending.end(), [](const auto& p) { return p->bulk != nullptr; });
  if (found == m.pending.end()) return false;
  complete(m, *take(m, size_t(found - m.pending.begin())));
  return true;
}

bool deliverFenced(Machine& m, Run& run, int peer) {
  return deliverWhere(m, [&run, peer](const PendingPut& p) {
    return !p.bulk && p.runId == run.runId && p.epoch < run.puts[size_t(p.peer)].fences && (peer < 0 || p.peer == peer);
  });
}

void fencePuts(Run& run, int peer) {
  for (size_t to = 0; to < run.puts.size(); ++to) {
    if (peer >= 0 && to != size_t(peer)) continue;
    ++run.puts[to].fences;
    run.puts[to].unfinished = 0;
    run.puts[to].fencedNs = run.puts[to].arrivedNs;
  }
}

bool quietPuts(Machine& m, Run& run, int peer) {
  fencePuts(run, peer);
  for (size_t to = 0; to < run.puts.size(); ++to)
    if (peer < 0 || to == size_t(peer)) run.clockNs = std::max(run.clockNs, run.puts[to].fencedNs);
  return deliverWhere(
      m, [&run, peer](const PendingPut& p) { return !p.bulk && p.runId == run.runId && (peer < 0 || p.peer == peer); });
}

bool deliverBulk(Machine& m, Run& run, const std::function<bool(const PendingPut&)>& which) {
  uint64_t id = run.runId;
  return deliverWhere(m, [&](const PendingPut& p) { return p.bulk && p.runId == id && which(p); });
}

bool deliverRank(Machine& m, int rank) {
  if (m.pending.empty()) return true;
  return deliverWhere(m, [=](const PendingPut& p) { return !p.bulk && p.rank == rank; });
}

bool brings(const PendingPut& put, Address byte) {
  auto has = [&](Address begin, uint64_t bytes) { return byte >= begin && byte - begin < bytes; };
  if (!put.bulk) return has(put.dest, put.bytes);
  return std::any_of(put.bulk->pieces.begin() + int64_t(put.bulk->done), put.bulk->pieces.end(),
                     [&](const BulkCopy::Piece& piece) { return has(piece.dest, piece.bytes); });
}

}  // namespace tandem::interpreter
