// Trace spans of programs.
#include "interpreter/vm/charge.h"

namespace tandem::interpreter {

void span(Machine& m, const Run& run, SpanKind kind, int64_t beginNs, int64_t endNs, const std::string& name,
          uint32_t location, int peer, uint64_t bytes) {
  if (!m.options.trace) return;
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
  m.trace.spans.push_back(std::move(s));
}

}  // namespace tandem::interpreter
