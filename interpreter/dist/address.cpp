// Ranks, teams, and addresses of peers.
#include "interpreter/dist/team.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>

namespace tandem::interpreter {

const std::vector<int>* teamOperand(Machine& m, Run& run, const Prepared& i, Register r, int* id) {
  *id = r == kNone ? 0 : int(integer(m, run, r));
  const std::vector<int>* members = m.team(*id, run.rank);
  if (!members) fail(m, run, i, "bad-rank", "there is no team " + std::to_string(*id));
  return members;
}

bool checkPeer(Machine& m, Run& run, const Prepared& i, int64_t peer) {
  if (peer >= 0 && peer < m.options.rankCount) return true;
  fail(m, run, i, "bad-rank",
       "peer " + std::to_string(peer) + " is outside 0.." + std::to_string(m.options.rankCount - 1));
  return false;
}

bool checkSymmetric(Machine& m, Run& run, const Prepared& i, Address address, const char* what) {
  Allocation* a = m.arena.find(address);
  if (a && !a->shared && a->kind == MemoryKind::Symmetric && !a->freed) return true;
  if (!a && m.arena.isSymmetric(address)) {
    // One past the end is a legal address to compute, not to use.
    if (Allocation* before = m.arena.nearest(address); before && address == before->end && !before->freed) return true;
  }
  std::string text = std::string(what) + " needs a symmetric address, but ";
  text += a ? "`" + a->name + "` of rank " + std::to_string(a->rank) : "address " + hex(address);
  if (!a) fail(m, run, i, "out-of-bounds", text + " is in no symmetric buffer");
  else if (a->freed) fail(m, run, i, "use-after-free", text + " has been freed");
  else fail(m, run, i, "out-of-bounds", text + " is local memory");
  return false;
}

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
  const std::vector<int>* members = teamOperand(m, run, i, i.b, &id);
  if (!members) return Step::Failed;
  int64_t index = integer(m, run, i.a);
  if (index < 0 || index >= int64_t(members->size()))
    return fail(m, run, i, "bad-rank",
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
  bool perElementPeer = run.count(i.b) == n && n > 1, lanes = isLanes(run, i.r);
  Allocation* last = nullptr;
  for (size_t k = 0; k < n; ++k) {
    if (lanes && !run.laneActive(uint32_t(k))) {
      out[k] = 0;
      continue;
    }
    int64_t peer = signedAt(data(m, run, i.b), perElementPeer ? k : 0, run.info(i.b).elem);
    Address from = pointers[k * pointerStep];
    if (!checkPeer(m, run, i, peer)) return Step::Failed;
    // Addresses of a tile may lie outside under a mask; the access checks those.
    bool inside = last && from >= last->begin && from < last->end;
    if (!inside && !(run.info(i.a).extent == Extent::Tile && !m.arena.find(from))) {
      if (!checkSymmetric(m, run, i, from, "`symm_at`")) return Step::Failed;
      last = m.arena.find(from);
      if (last && last->rank != run.rank && run.info(i.a).extent != Extent::Tile)
        return fail(
            m, run, i, "out-of-bounds",
            "`symm_at` needs an address of this rank, but `" + last->name + "` of rank " + std::to_string(last->rank) +
                " is another rank's already");
    }
    out[k] = m.arena.rankOf(from) >= 0 ? m.arena.at(from, int(peer)) : from;
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
  size_t n = run.count(i.r), step = run.count(i.b) == n ? 1 : 0;
  for (size_t k = 0; k < n; ++k) {
    if (isLanes(run, i.r) && !run.laneActive(uint32_t(k))) continue;
    if (!checkSymmetric(m, run, i, pointers[k * step], "`multicast_at`")) return Step::Failed;
    out[k] = m.arena.multicastAddress(id, pointers[k * step]);
    if (!out[k]) return fail(m, run, i, "out-of-memory", "too many teams use multicast addresses");
  }
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
