// Print, Assert and Assume.
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"
#include <cstdio>

namespace tandem::interpreter {
namespace {

std::string elementText(const uint8_t* p, size_t index, Elem elem, bool isSigned, bool asHex) {
  unsigned bytes = byteSize(elem);
  uint64_t raw = 0;
  memcpy(&raw, p + index * bytes, bytes);
  if (asHex) return hex(raw);
  if (UnaryKernel widen = convertKernel(ConvertOp::FToF, elem, Elem::F64); widen || elem == Elem::F64) {
    double value;
    if (elem == Elem::F64) memcpy(&value, &raw, 8);
    else widen(&raw, &value, 1);
    char text[40];
    snprintf(text, sizeof text, "%g", value);
    return text;
  }
  return isSigned ? std::to_string(signedAt(p, index, elem)) : std::to_string(raw);
}

}  // namespace

namespace handlers {

// One line for each value: the program, the prefix, the elements.
Step printOp(Machine& m, Run& run, const Prepared& i) {
  std::string head = "[" + whoText(run.rank, run.id) + "] " + run.prepared->program->strings[size_t(i.immediates[0])];
  std::string text;
  for (uint32_t k = 0; k < i.operandCount; ++k) {
    Register r = i.operands[k];
    const uint8_t* p = data(m, run, r);
    bool isSigned = i.immediateCount > 2 + k && i.immediates[2 + k];
    text += head;
    size_t n = run.count(r);
    for (size_t e = 0; e < n; ++e) {
      if (isLanes(run, r) && !run.laneActive(uint32_t(e / run.info(r).vectorLength))) continue;
      text += " " + elementText(p, e, run.info(r).elem, isSigned, i.immediates[1] != 0);
    }
    text += "\n";
  }
  if (!i.operandCount) text = head + "\n";
  if (m.printer) m.printer(text);
  else fputs(text.c_str(), stdout), fflush(stdout);  // seen even if the program never ends, and piped too
  return Step::Next;
}

Step assertOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* condition = data(m, run, i.a);
  const uint8_t* mask = i.b == kNone ? nullptr : data(m, run, i.b);
  size_t n = run.count(i.a), maskStep = mask && run.count(i.b) == n ? 1 : 0;
  bool lanes = isLanes(run, i.a);
  for (size_t k = 0; k < n; ++k) {
    if (condition[k] || (mask && !mask[k * maskStep]) || (lanes && !run.laneActive(uint32_t(k)))) continue;
    std::string text = "assertion failed: " + run.prepared->program->strings[size_t(i.immediates[0])];
    if (lanes) text += " (thread " + std::to_string(k) + ")";
    else if (n > 1) text += " (element " + std::to_string(k) + " of " + std::to_string(n) + ")";
    return fail(m, run, i, "assertion", text);
  }
  return Step::Next;
}

Step assumeOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* condition = data(m, run, i.a);
  for (size_t k = 0; k < run.count(i.a); ++k)
    if (!condition[k] && (!isLanes(run, i.a) || run.laneActive(uint32_t(k))))
      return fail(m, run, i, "assume-violated", "`assume` does not hold");
  return Step::Next;
}

Step malformed(Machine& m, Run& run, const Prepared& i) {
  return fail(m, run, i, "unsupported", "this operation is not defined for its operand types");
}

}  // namespace handlers
}  // namespace tandem::interpreter
