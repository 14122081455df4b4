// Ranks, teams, and addresses of peers.
#include "interpreter/dist/team.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>
#include <set>

namespace tandem::interpreter {

const std::vector<int>* teamOperand(Machine& m, Run& run, const Prepared& i, Register r, int* id) {
  *id = r == kNone ? 0 : int(integer(m, run, r));
  if (run.team && !*id) *id = run.team;
  const std::vector<int>* members = run.team && *id != run.team ? nullptr : m.team(*id, run.rank);
  if (!members) fail(m, run, i, ReportKind::BadRank, "there is no team " + std::to_string(*id));
  return members;
}

int peerOf(Machine& m, Run& run, const Prepared& i, int64_t rank) {
  const std::vector<int>& members = *m.team(run.team, run.rank);
  if (rank >= 0 && rank < int64_t(members.size())) return members[size_t(rank)];
  fail(m, run, i, ReportKind::BadRank,
       "peer " + std::to_string(rank) + " is outside 0.." + std::to_string(members.size() - 1));
  return -1;
}

bool namesPeer(Machine& m, Run& run, Register peers, int peer) {
  const std::vector<int>& members = *m.team(run.team, run.rank);
  int64_t rank = std::find(members.begin(), members.end(), peer) - members.begin();
  for (uint32_t lane = 0; lane < (isLanes(run, peers) ? run.lanes : 1); ++lane)
    if ((!isLanes(run, peers) || run.laneActive(lane)) && integer(m, run, peers, lane) == rank) return true;
  return false;
}

bool eachPeer(Machine& m, Run& run, const Prepared& i, Register peers, const std::function<bool(int)>& body) {
  if (peers == kNone) return body(-1);
  auto named = [&](uint32_t lane) { return integer(m, run, peers, lane); };
  auto call = [&](int64_t rank) {
    int peer = peerOf(m, run, i, rank);
    return peer >= 0 && body(peer);
  };
  if (!isLanes(run, peers)) return call(named(0));
  LaneMask callers = run.mask;
  std::set<int64_t> done;
  bool ok = true;
  for (uint32_t lane = 0; ok && lane < run.lanes; ++lane) {
    int64_t rank = named(lane);
    if (!callers.has(lane) || !done.insert(rank).second) continue;
    run.mask = makeMask(run.lanes, [&](uint32_t other) { return callers.has(other) && named(other) == rank; });
    ok = call(rank);
  }
  run.mask = std::move(callers);
  return ok;
}

bool checkSymmetric(Machine& m, Run& run, const Prepared& i, Address address, const char* what) {
  Allocation* a = m.arena.find(address);
  if (a && !a->shared && a->kind == MemoryKind::Symmetric && !a->freed && a->team == run.team) return true;
  if (!a && m.arena.isSymmetric(address)) {
    // One past the end is a legal address to compute, not to use.
    if (Allocation* before = m.arena.nearest(address); before && address == before->end && !before->freed) return true;
  }
  std::string text = std::string(what) + " needs a symmetric address, but " + notSymmetricText(m, address, run.team);
  fail(m, run, i, a && a->freed ? ReportKind::UseAfterFree : ReportKind::OutOfBounds, text,
       strayNotes(m, run, address));
  return false;
}

namespace {

// Gives addresses on a peer, or in a window, for those of this rank's symmetric memory. Any other may be computed, too,
// and is wrong where it is used.
class Translation {
 public:
  Translation(Machine& m, Run& run, const Prepared& i) : m_(m), run_(run), location_(i.location) {}
  template <class To> Address operator()(Address from, To to) {
    if (last_ && from >= last_->begin && from < last_->end) return to(from);
    last_ = m_.arena.find(from);
    bool isOwn = m_.arena.rankOf(from) == run_.rank && m_.arena.isSymmetric(from) &&
                 (!last_ || last_->freed || last_->team == run_.team);
    Address result = isOwn ? to(from) : from | kStray;
    if (isOwn && last_) return result;
    last_ = nullptr;
    run_.strays[location_] = {from, result};
    return result;
  }

 private:
  Machine& m_;
  Run& run_;
  uint32_t location_;
  Allocation* last_ = nullptr;
};

}  // namespace

namespace handlers {

Step rankOp(Machine& m, Run& run, const Prepared& i) {
  int id;
  const std::vector<int>* members = teamOperand(m, run, i, i.a, &id);
  if (!members) return Step::Failed;
  auto at = std::find(members->begin(), members->end(), run.rank);
  setInteger(m, run, i.r, at == members->end() ? -1 : at - members->begin());
  return Step::Next;
}

Step numRanks(Machine& m, Run& run, const Prepared& i) {
  int id;
  const std::vector<int>* members = teamOperand(m, run, i, i.a, &id);
  if (!members) return Step::Failed;
  setInteger(m, run, i.r, int64_t(members->size()));
  return Step::Next;
}

Step translateRank(Machine& m, Run& run, const Prepared& i) {
  int id;
  const std::vector<int>* members = teamOperand(m, run, i, i.a, &id);
  if (!members) return Step::Failed;
  int64_t index = integer(m, run, i.b);
  if (index < 0 || index >= int64_t(members->size()))
    return fail(m, run, i, ReportKind::BadRank,
                "rank " + std::to_string(index) + " is outside team " + std::to_string(id) + " of " +
                    std::to_string(members->size()));
  int world = (*members)[size_t(index)];
  const std::vector<int>* dest = teamOperand(m, run, i, i.c, &id);
  if (!dest) return Step::Failed;
  auto at = std::find(dest->begin(), dest->end(), world);
  setInteger(m, run, i.r, at == dest->end() ? -1 : at - dest->begin());
  return Step::Next;
}

Step symmAt(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  auto* out = reinterpret_cast<uint64_t*>(result.data());
  size_t n = run.count(i.r), pointerStep = run.count(i.a) == n ? 1 : 0;
  Translation translate(m, run, i);
  bool perElementPeer = run.count(i.b) == n && n > 1, lanes = isLanes(run, i.r);
  int peer = -1;
  for (size_t k = 0; k < n; ++k) {
    if (lanes && !run.laneActive(uint32_t(k))) {
      out[k] = 0;
      continue;
    }
    if (peer < 0 || perElementPeer)
      peer = peerOf(m, run, i, signedAt(data(m, run, i.b), perElementPeer ? k : 0, run.info(i.b).elem));
    if (peer < 0) return Step::Failed;
    out[k] = translate(pointers[k * pointerStep], [&](Address from) { return m.arena.at(from, peer); });
  }
  result.commit();
  return Step::Next;
}

Step multicastAt(Machine& m, Run& run, const Prepared& i) {
  int id;
  if (!teamOperand(m, run, i, i.a, &id)) return Step::Failed;
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.b));
  Result result(m, run, i.r);
  auto* out = reinterpret_cast<uint64_t*>(result.data());
  Translation translate(m, run, i);
  size_t n = run.count(i.r), step = run.count(i.b) == n ? 1 : 0;
  for (size_t k = 0; k < n; ++k) {
    if (isLanes(run, i.r) && !run.laneActive(uint32_t(k))) continue;
    out[k] = translate(pointers[k * step], [&](Address from) { return m.arena.multicastAddress(id, from); });
    if (!out[k]) return fail(m, run, i, ReportKind::OutOfMemory, "too many teams use multicast addresses");
  }
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
