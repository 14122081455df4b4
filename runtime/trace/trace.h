// Timelines of a run: as a Perfetto-readable trace file, as text for a terminal, as totals. Simulated runs, with
// modelled time, and runs on GPUs, with measured time, are written alike (interpreter/trace.h).
#pragma once
#include "interpreter/trace.h"
#include <string>

namespace tandem::runtime {

// Chrome trace-event JSON, which Perfetto opens: one process for each rank; one thread for each resident slot, stream,
// or other actor of a slot; one event on each line.
std::string chromeTrace(const interpreter::Trace& trace);
// Reads the text that chromeTrace() wrote; throws std::runtime_error for anything else.
interpreter::Trace readChromeTrace(const std::string& text);

// Writes a file as chromeTrace() gives it. A part of the same run, from another process, that is there already stays in
// it; processes take turns. Throws std::runtime_error when the file cannot be written.
void addToTraceFile(const std::string& path, const interpreter::Trace& trace);

// Returns the time at which drawings begin: 0, but for measured times that of the first span.
int64_t firstNs(const interpreter::Trace& trace);

// A few rows a rank, `width` columns of time: how many of its slots computed and how many waited, and whether its copy
// engines moved data.
std::string timeline(const interpreter::Trace& trace, int width);

// JSON {"end_ns" (after firstNs), "lost" (records), "ranks": [{"rank", "compute_ns", "wait_ns", "transfer_ns",
// "overlapped_ns", "bytes"}]}: wait is summed over the rank's programs, overlapped is the time in which the rank
// computed and moved data at once.
std::string traceSummary(const interpreter::Trace& trace);

}  // namespace tandem::runtime
