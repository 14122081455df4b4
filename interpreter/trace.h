// When each program computed, waited and moved data, in modelled nanoseconds. Plain data; the runtime's trace room writes files.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::interpreter {

// Modelled time: each instruction costs bytes and flops over the rates of a nominal machine, a wait ends when the signal's writer
// wrote it. It shows order and overlap; it does not predict a GPU's time.
enum class SpanKind : uint8_t { Kernel, Compute, Wait, Put, Get, Copy, Barrier, Signal };
struct Span {
  int32_t rank = 0;
  int32_t lane = 0;       // resident slot of the rank for programs; 10000 + stream for copy engines and kernels
  SpanKind kind{};
  int64_t beginNs = 0, endNs = 0;
  std::string name;       // kernel, or what was waited for
  std::array<int32_t, 3> program{0, 0, 0};
  uint32_t line = 0;
  int32_t peer = -1;      // Put, Get, Copy, Signal; Wait: who wrote the signal
  uint64_t bytes = 0;
};
struct Trace {
  std::vector<Span> spans;
};

}  // namespace tandem::interpreter
