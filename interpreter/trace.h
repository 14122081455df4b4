// When each program computed, waited and moved data, in nanoseconds: modelled ones of the simulator, measured ones of
// GPUs. Plain data; the runtime's trace room writes files.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::interpreter {

// Modelled time: each instruction costs bytes and flops over the rates of a machine (model/clock.h), a wait ends when
// the signal's writer wrote it. It shows order and overlap; it does not predict a GPU's time. Load: a producer fetches
// what its program works on; Store: the program hands a block to the copy unit.
enum class SpanKind : uint8_t { Kernel, Compute, Wait, Put, Get, Copy, Barrier, Signal, Load, Store };

// Lanes are a rank's resident slots from 0, its streams, and the other writers for a program in a slot: its producer,
// its signaller, warps.
inline constexpr int32_t kStreamLanes = 10000, kPartLanes = 20000, kPartsOfSlot = 64;
inline constexpr int32_t kProducerPart = 0, kSignallerPart = 1, kWarpParts = 2;

struct Span {
  int32_t rank = 0;
  int32_t lane = 0;  // resident slot of the rank for programs; kStreamLanes + stream for copy engines and kernels
  SpanKind kind{};
  int64_t beginNs = 0, endNs = 0;
  std::string name;  // kernel, or the name of the thing that was waited for
  std::array<int32_t, 3> program{0, 0, 0};
  uint32_t line = 0;
  int32_t peer = -1;  // Put, Get, Copy, Signal; Wait: who wrote the signal
  uint64_t bytes = 0;
  std::string signal;  // Signal, Wait, and a Put that signals: "`flag` + 8", the array's name and a byte of it
};
struct Trace {
  std::vector<Span> spans;
  int64_t originNs =
      0;  // measured times count from it, by the host's steady clock; one for all processes of a run. 0: modelled
  uint64_t lost = 0;  // records for which there was no room
};

}  // namespace tandem::interpreter
