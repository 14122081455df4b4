// The machine by which all ranks of a team choose: rank 0's, so that they choose the same.
#pragma once
#include "model/machine.h"
#include "tandem/team.h"

namespace tandem::ops {

// [collective, blocks] By the profile in rank 0's cache directory, if it is of such GPUs and can be read; else the one
// that comes with Tandem for them. Simulated ranks choose as H200s do.
model::Machine machineOfRanks(Team& team);
// The same of this process's own directory, for whoever tells the others.
model::Machine machineOfRank(const Team& team);

}  // namespace tandem::ops
