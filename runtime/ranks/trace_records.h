// This header turns the records of a rank's kernels (abi/trace.h) into spans. It knows nothing of the driver.
#pragma once
#include "abi/trace.h"
#include "interpreter/trace.h"
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tandem::runtime::ranks {

// One site of a kernel's code, as its text says: "wait k.py:12:5".
struct TraceSite {
  std::string kind, file;
  uint32_t line = 0;
};
struct TraceKernel {
  std::string name;
  std::vector<TraceSite> sites;
};
TraceKernel readSites(const std::string& text);

using TraceChunk = std::array<unsigned char, TANDEM_TRACE_CHUNK_BYTES>;

// `chunks` were filled at device address `base`; `kernelAt` returns the kernel whose sites lie at an address. Programs
// that ran at the same time get different slots, the lowest that is free. Times are the device's.
std::vector<interpreter::Span> spansOf(std::span<const TraceChunk> chunks, uint64_t base,
                                       const std::function<const TraceKernel&(uint64_t)>& kernelAt);

}  // namespace tandem::runtime::ranks
