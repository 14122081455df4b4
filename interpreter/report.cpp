// Renders a report like a compiler diagnostic, with who it happened to.
#include "interpreter/report.h"

namespace tandem::interpreter {

std::string Report::render() const {
  Diagnostic d;
  d.severity = rowOf(kind).severity;
  d.kind = wordOf(kind);
  d.message = message.starts_with(d.kind + ":") ? message : d.kind + ": " + message;
  std::string who;
  auto add = [&](const std::string& part) { who += (who.empty() ? "" : ", ") + part; };
  if (rank >= 0) add("rank " + std::to_string(rank));
  if (program[0] >= 0)
    add("program (" + std::to_string(program[0]) + "," + std::to_string(program[1]) + "," + std::to_string(program[2]) +
        ")");
  if (!kernel.empty()) add("kernel `" + kernel + "`");
  if (!who.empty()) d.message += " [" + who + "]";
  d.file = file;
  d.range = range;
  d.notes = notes;
  return d.render();
}

}  // namespace tandem::interpreter
