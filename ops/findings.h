// What kernels find in data on the device that they cannot use (ops/device/findings.py).
#pragma once
#include "tandem/team.h"
#include <functional>

namespace tandem::ops {

constexpr int kFindingWords = 8;

// What the words say, of the operator of this name; empty: nothing. Clears them, so that each finding is told once.
std::string takeFinding(const HostWords& words, const std::string& name);

// Words in which the operator of this name is told of findings: this rank's Team::synchronize() throws Error where there
// is one, until they are forgotten.
HostWords findingsOf(Team& team, const std::string& name);
void forget(Team& team, const HostWords& findings);

// Words about a team's memory, with the team's ranks where these are not the run's.
std::function<std::string(uint64_t)> onTeam(const Team& team, std::function<std::string(uint64_t)> words);

}  // namespace tandem::ops
