// What kernels find in data on the device that they cannot use (ops/device/findings.py).
#pragma once
#include "tandem/team.h"

namespace tandem::ops {

constexpr int kFindingWords = 8;

// What the words say, of the operator of this name; empty: nothing. Clears them, so that each finding is told once.
std::string takeFinding(const HostWords& words, const std::string& name);

// Words in which the operator of this name is told of findings: this rank's Team::synchronize() throws Error where there
// is one, until they are forgotten.
HostWords findingsOf(Team& team, const std::string& name);
void forget(Team& team, const HostWords& findings);

}  // namespace tandem::ops
