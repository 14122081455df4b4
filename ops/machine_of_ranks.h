// The machine by which all ranks of a team plan: rank 0's, so that they plan the same.
#pragma once
#include "ops/machine.h"
#include "tandem/team.h"

namespace tandem::ops {

// [collective, blocks] By the profile in rank 0's cache directory; simulated ranks have the defaults.
Machine machineOfRanks(Team& team);
// The same of this process's own directory, for whoever tells the others.
Machine machineOfRank(const Team& team);

}  // namespace tandem::ops
