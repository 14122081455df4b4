// One block of device memory: the context, kMaxTeams teams, each team's lists and epoch, then the distances to peers'
// memory. Kernels that run may read it while a team is added, so nothing in it moves; they cannot know the new team.
#include "runtime/ranks/rank_context.h"
#include "runtime/ranks/wire.h"
#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tandem::runtime::ranks {
namespace {

constexpr uint64_t kTeams = 256;  // the context before them
static_assert(sizeof(tandem_dist_context) <= kTeams);

template <class T>
T* devicePointer(Address address) {
  return reinterpret_cast<T*>(address);
}

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

RankContext::RankContext(Rendezvous& ranks, SymmetricHeap& heap, int rank, int rankCount, Device& device,
                         ContextParts parts, Stream stream)
    : ranks_(ranks), rank_(rank), rankCount_(rankCount), device_(device),
      slotBytes_(roundUp(uint64_t(rankCount) * (sizeof(uint64_t) + 2 * sizeof(uint32_t)), 128)),
      listBytes_(roundUp(sizeof(uint64_t) + uint64_t(rankCount) * 2 * sizeof(int32_t), 16)) {
  signals_ = heap.allocate({slotBytes_ * kMaxTeams, true, "team signals"}, stream, [] {});
  std::vector<int64_t> offsets = heap.offsets();
  uint64_t bytes = listsEnd() + offsets.size() * sizeof(int64_t);
  block_ = device.allocate(bytes);
  device.set(stream, block_, 0, bytes);
  tandem_dist_context context{};
  context.rank = rank;
  context.rank_count = rankCount;
  context.heap_base = heap.base();
  context.stride = heap.stride();
  context.teams = devicePointer<tandem_dist_team>(block_ + kTeams);
  context.watch = devicePointer<tandem_dist_watch>(parts.watch);
  context.trace = devicePointer<tandem_trace>(parts.trace);
  if (!offsets.empty()) {
    context.offsets = devicePointer<int64_t>(block_ + listsEnd());
    device.copyFromHost(stream, block_ + listsEnd(), offsets.data(), offsets.size() * sizeof(int64_t));
  }
  device.copyFromHost(stream, block_, &context, sizeof context);
  device.synchronize(stream);
  std::vector<int> world(static_cast<size_t>(rankCount));
  std::iota(world.begin(), world.end(), 0);
  // The teams that SHMEM names, in the order of its numbers: the world; ranks that share memory; the node; same place
  // in the node; same GPU; one rank per GPU.
  for (const std::vector<int>& members : {world, world, world, {rank}, {rank}, world}) {
    teams_.push_back(members);
    place(int(teams_.size()) - 1, members, stream);
  }
}

RankContext::~RankContext() { device_.release(block_); }

Address RankContext::lists(int team) const {
  return block_ + kTeams + kMaxTeams * sizeof(tandem_dist_team) + uint64_t(team) * listBytes_;
}

uint64_t RankContext::listsEnd() const { return lists(kMaxTeams) - block_; }

TeamSignals RankContext::signalsOf(int team) const {
  Address at = signals_ + uint64_t(team) * slotBytes_;
  Address arrived = at + uint64_t(rankCount_) * sizeof(uint64_t);
  return {at, arrived, arrived + uint64_t(rankCount_) * sizeof(uint32_t)};
}

std::optional<TeamWord> RankContext::wordAt(Address at) const {
  if (at < signals_ || at >= signals_ + slotBytes_ * teams_.size()) return {};
  size_t team = (at - signals_) / slotBytes_;
  TeamSignals words = signalsOf(int(team));
  bool ofKernels = at < words.arrived;
  Address first = ofKernels ? words.kernels : at < words.freed ? words.arrived : words.freed;
  size_t member = (at - first) / (ofKernels ? sizeof(uint64_t) : sizeof(uint32_t));
  if (member >= teams_[team].size()) return {};
  return TeamWord{int(team), teams_[team][member], ofKernels};
}

const std::vector<int>& RankContext::membersOf(int team) const {
  if (team < 0 || size_t(team) >= teams_.size() || teams_[size_t(team)].empty())
    throw std::invalid_argument("rank " + std::to_string(rank_) + " is in no team " + std::to_string(team));
  return teams_[size_t(team)];
}

void RankContext::checkMembers(const std::vector<int>& members) const {
  std::vector<bool> seen(static_cast<size_t>(rankCount_));
  for (int r : members) {
    if (r < 0 || r >= rankCount_)
      throw std::invalid_argument("a team's member is rank " + std::to_string(r) + " of " + std::to_string(rankCount_));
    if (seen[size_t(r)]) throw std::invalid_argument("rank " + std::to_string(r) + " is in the team twice");
    seen[size_t(r)] = true;
  }
  if (!seen[size_t(rank_)])
    throw std::invalid_argument("rank " + std::to_string(rank_) + " makes a team that it is not in");
}

// Each member proposes the first number it has never used; the largest is free on all. Teams without common members may
// get the same one: their signals lie on different ranks.
int RankContext::createTeam(const std::vector<int>& members, Stream stream) {
  checkMembers(members);
  size_t team = teams_.size();
  Writer mine;
  mine.put(uint64_t(team)).put(uint32_t(members.size()));
  for (int r : members) mine.put(r);
  size_t from = 0;
  for (const Packet& p : ranks_.gather(members, "create team", mine.bytes)) {
    Reader in(p.bytes);
    int other = members[from++];
    team = std::max(team, size_t(in.get<uint64_t>()));
    std::vector<int> theirs(std::min<size_t>(in.get<uint32_t>(), size_t(rankCount_)));
    for (int& r : theirs) r = in.get<int>();
    if (theirs != members) throw std::invalid_argument(differentMembers(rank_, members, other, theirs));
  }
  if (team >= size_t(kMaxTeams)) throw std::runtime_error("a run has at most " + std::to_string(kMaxTeams) + " teams");
  place(int(team), members, stream);
  teams_.resize(team + 1);
  teams_[team] = members;
  ranks_.barrier(members, "team created");
  return int(team);
}

void RankContext::place(int team, const std::vector<int>& members, Stream stream) {
  Address at = lists(team);
  std::vector<int32_t> numbers(members.begin(), members.end());
  numbers.resize(size_t(rankCount_) * 2, -1);  // members, then indices
  for (size_t i = 0; i < members.size(); ++i) numbers[size_t(rankCount_ + members[i])] = int32_t(i);
  tandem_dist_team t{};
  t.rank = numbers[size_t(rankCount_ + rank_)];
  t.size = int32_t(members.size());
  t.epoch = devicePointer<uint64_t>(at);
  t.members = devicePointer<int32_t>(at + sizeof(uint64_t));
  t.indices = t.members + rankCount_;
  t.signals = devicePointer<uint64_t>(signalsOf(team).kernels);
  int32_t count = team + 1;
  device_.copyFromHost(stream, at + sizeof(uint64_t), numbers.data(), numbers.size() * sizeof(int32_t));
  device_.copyFromHost(stream, block_ + kTeams + uint64_t(team) * sizeof t, &t, sizeof t);
  device_.copyFromHost(stream, block_ + offsetof(tandem_dist_context, team_count), &count, sizeof count);
  device_.synchronize(stream);
}

}  // namespace tandem::runtime::ranks
