// The description of a machine: GPUs of one kind, how fast they copy, signal, launch and multiply, and the links
// between them. The operators' cost models, the simulator's clock and Python read this description and no other.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::model {

// Rates by the number of programs that move bytes at the same time, all of them together, in GB/s.
using ByPrograms = std::map<int, double>;

// A profile has the same members as JSON: names in words joined by `_`, and their meaning, are in speeds.inc. GB/s are
// 10^9 bytes a second; a byte that goes to or comes from a peer counts once. Every GPU reaches every other one, and
// what it sends to all of them together goes through one link of its own.
struct Machine {
  std::string device;  // name of the GPUs; empty: any
  std::string source;  // says where the numbers are from
  int ranks = 0;       // how many GPUs were measured
  bool measured = false;
#define TANDEM_SPEED(name, member, what) double member = 0;
#define TANDEM_TABLE(name, member, what) ByPrograms member;
#include "model/speeds.inc"

  // Rates per microsecond, as cost models use them.
  double copyBytes() const { return copyGbps * 1e3; }
  double storeBytes() const;  // with as many programs as it takes
  // Returns a product's rate by the size of its operands' elements: 1, 2 or 4 bytes.
  double operations(int64_t elementBytes) const;
};

// A machine that comes with Tandem: `h200`, `h100`, or `nominal`, round numbers by which simulated ranks model their
// time. Throws std::runtime_error where there is none of that name.
const Machine& namedMachine(std::string_view name);
const std::vector<std::string>& machineNames();
// The one that comes with Tandem for GPUs of this name; for others the H200.
const Machine& machineOfGpu(std::string_view device);

// Reads a profile. A speed that it lacks is that of machineOfGpu for its device. Throws std::runtime_error that names
// the member which is wrong, or says why the text is no profile.
Machine readMachine(const std::string& profile);
// A name of a machine that comes with Tandem, or a profile.
Machine machineFrom(const std::string& nameOrProfile);
// Returns the profile of all members, from which readMachine makes the same machine.
std::string textOf(const Machine& machine);

// Returns the members as JSON: [{"name", "what", "table" (by programs)}], in their order.
std::string speedsAsJson();

}  // namespace tandem::model
