// The parts of a trace file, for who joins those of several processes.
#pragma once
#include "runtime/trace/trace.h"

namespace tandem::runtime {

// chromeTrace() is the three in this order. The head is the same for all parts of one measured run, and of no other.
std::string traceHead(const interpreter::Trace& trace);
std::string traceEvents(const interpreter::Trace& trace);  // empty, or lines with commas between them
inline constexpr const char* kTraceEnd = "\n]}\n";

}  // namespace tandem::runtime
