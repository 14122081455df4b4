// A rank's `tandem_dist_context` in its device's memory, with its teams. Knows nothing of streams.
#pragma once
#include "abi/dist_context.h"
#include "runtime/ranks/symmetric_heap.h"
#include <optional>

namespace tandem::runtime::ranks {

// Device addresses that the context holds; 0: none.
struct ContextParts {
  Address watch = 0, trace = 0;
};

// The places of a team's symmetric words on this rank.
struct TeamSignals {
  Address kernels = 0;             // uint64_t a member: `signals` of tandem_dist_team
  Address arrived = 0, freed = 0;  // uint32_t a member: of barriers on streams
};

// One of those words: which member writes it, by its world rank.
struct TeamWord {
  int team = 0, member = 0;
  bool ofKernels = false;
};

class RankContext {
 public:
  static constexpr int kMaxTeams = 256;

  // [all ranks] Team 0 is the world.
  RankContext(Rendezvous& ranks, SymmetricHeap& heap, int rank, int rankCount, Device& device, ContextParts parts,
              Stream stream);
  ~RankContext();
  RankContext(const RankContext&) = delete;
  RankContext& operator=(const RankContext&) = delete;

  Address address() const { return block_; }
  // [all members] Returns the same number on each: one that no member has for another team.
  int createTeam(const std::vector<int>& members, Stream stream);
  const std::vector<int>& membersOf(int team) const;  // world ranks; throws when the rank is not in such a team
  TeamSignals signalsOf(int team) const;
  std::optional<TeamWord> wordAt(Address at) const;  // none: it is no word of a team's

 private:
  void checkMembers(const std::vector<int>& members) const;
  void place(int team, const std::vector<int>& members, Stream stream);
  Address lists(int team) const;
  uint64_t listsEnd() const;  // in the block

  Rendezvous& ranks_;
  int rank_, rankCount_;
  Device& device_;
  uint64_t slotBytes_, listBytes_;  // of one team: symmetric, and of this rank alone
  Address block_ = 0, signals_ = 0;
  std::vector<std::vector<int>> teams_;  // empty: a number that this rank has no team for
};

}  // namespace tandem::runtime::ranks
