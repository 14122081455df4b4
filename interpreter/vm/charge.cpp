// Trace spans of programs.
#include "interpreter/vm/charge.h"
#include <algorithm>

namespace tandem::interpreter {

void span(Machine& m, Run& run, SpanKind kind, int64_t beginNs, int64_t endNs, const std::string& name,
          uint32_t location, int peer, uint64_t bytes, std::string signal) {
  if (!m.options.trace) return;
  if (kind == SpanKind::Wait || kind == SpanKind::Barrier) pauseCompute(m, run, beginNs, endNs);
  Span s;
  s.rank = run.rank;
  s.lane = run.slot;
  s.kind = kind;
  s.beginNs = beginNs;
  s.endNs = endNs;
  s.name = name;
  s.program = run.id;
  const auto& locations = run.prepared->program->locations;
  if (location < locations.size()) s.line = locations[location].range.line;
  s.peer = peer;
  s.bytes = bytes;
  s.signal = std::move(signal);
  m.trace.spans.push_back(std::move(s));
}

std::string signalWords(Machine& m, Address address) {
  const Allocation* a = m.options.trace ? m.arena.find(address) : nullptr;
  return a ? "`" + a->name + "` + " + std::to_string(address - a->begin) : std::string();
}

void pauseCompute(Machine& m, Run& run, int64_t beginNs, int64_t endNs) {
  if (beginNs > run.computeBeganNs)
    span(m, run, SpanKind::Compute, run.computeBeganNs, beginNs, run.prepared->program->name, 0);
  run.computeBeganNs = std::max(run.computeBeganNs, endNs);
}

void chargeAccess(Machine& m, Run& run, uint32_t location, uint64_t moved, int rank, SpanKind kind, const char* name) {
  int64_t began = run.clockNs;
  kind == SpanKind::Put ? chargeStore(m, run, moved, rank) : chargeLoad(m, run, moved, rank);
  if (rank < 0 || rank == run.rank) return;
  (kind == SpanKind::Put ? m.counters.putBytes : m.counters.getBytes) += moved;
  pauseCompute(m, run, began, run.clockNs);
  span(m, run, kind, began, run.clockNs, name, location, rank, moved);
}

}  // namespace tandem::interpreter
