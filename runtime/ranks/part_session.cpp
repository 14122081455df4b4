// What needs more than the numbers of ranks.
#include "runtime/ranks/part_session.h"
#include <algorithm>

namespace tandem::runtime {

PartSession::PartSession(Session& whole, int rank, int team)
    : whole_(whole), team_(team), members_(whole.membersOf(rank, team)) {
  whole.openPart(rank, team);
}

int PartSession::createTeam(int rank, const std::vector<int>& members) {
  std::vector<int> there;
  for (int m : members) there.push_back(at(m));
  return whole_.createTeam(at(rank), there);
}

std::vector<int> PartSession::membersOf(int rank, int team) const {
  std::vector<int> here;
  for (int m : whole_.membersOf(at(rank), teamOf(team)))
    here.push_back(int(std::ranges::find(members_, m) - members_.begin()));
  return here;
}

void PartSession::launch(int rank, StreamId stream, const KernelLaunch& launch) {
  KernelLaunch there = launch;
  there.team = teamOf(launch.team);
  whole_.launch(at(rank), stream, there);
}

}  // namespace tandem::runtime
