// Print, Assert and Assume.
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"
#include <algorithm>
#include <cstdio>

namespace tandem::interpreter {
namespace {

enum class Shown : int64_t { Unsigned, Signed, Pointer };  // an integer, as op.h says

std::string numberText(const char* format, auto value) {
  char text[352];  // the largest double has 309 digits before its point
  snprintf(text, sizeof text, format, value);
  return text;
}

std::string paddedHex(uint64_t raw, Elem elem) {
  std::string digits = hex(raw).substr(2);
  size_t width = elem == Elem::I1 ? 1 : 2 * byteSize(elem);
  return "0x" + std::string(width - std::min(width, digits.size()), '0') + digits;
}

// Prints an element as CUDA's printf does.
std::string elementText(const uint8_t* p, size_t index, Elem elem, Shown shown, bool asHex) {
  unsigned bytes = byteSize(elem);
  uint64_t raw = 0;
  memcpy(&raw, p + index * bytes, bytes);
  if (shown == Shown::Pointer) return raw ? hex(raw) : "(nil)";
  if (asHex) return paddedHex(raw, elem);
  if (UnaryKernel widen = convertKernel(ConvertOp::FToF, elem, Elem::F64); widen || elem == Elem::F64) {
    double value;
    if (elem == Elem::F64)
      memcpy(&value, &raw, 8);
    else
      widen(&raw, &value, 1);
    return value != value ? "nan" : numberText("%f", value);
  }
  return shown == Shown::Signed ? std::to_string(signedAt(p, index, elem)) : std::to_string(raw);
}

// "(3,  12)": the row-major position in `shape`, each coordinate as wide as the dimension's largest.
std::string indexText(size_t position, std::span<const int64_t> shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    std::string digits = std::to_string(position % size_t(shape[d]));
    position /= size_t(shape[d]);
    size_t width = std::to_string(shape[d] - 1).size();
    text = std::string(width - std::min(width, digits.size()), ' ') + digits + (text.empty() ? "" : ", " + text);
  }
  return "(" + text + ")";
}

// Returns the ranges of a printed value's index: a tile's shape; threads, and the elements of a thread's vector.
std::vector<int64_t> printedShape(const Run& run, Register r) {
  const RegisterType& type = run.prepared->program->registers[r];
  std::vector<int64_t> shape = type.extent == Extent::Tile ? type.shape : std::vector<int64_t>();
  if (isLanes(run, r)) shape.push_back(run.lanes);
  if (type.vectorLength > 1) shape.push_back(type.vectorLength);
  return shape;
}

}  // namespace

namespace handlers {

// Triton's form: a line for each element, with the program and the element's index.
Step printOp(Machine& m, Run& run, const Prepared& i) {
  const std::string& prefix = run.prepared->program->strings[size_t(i.as<imm::Print>().prefix)];
  std::string text, head = m.options.rankCount > 1 ? "[rank " + std::to_string(run.rank) + "] " : "";
  head +=
      "pid (" + std::to_string(run.id[0]) + ", " + std::to_string(run.id[1]) + ", " + std::to_string(run.id[2]) + ")";
  for (uint32_t k = 0; k < i.operandCount; ++k) {
    Register r = i.operands[k];
    const uint8_t* p = data(m, run, r);
    std::vector<int64_t> shape = printedShape(run, r);
    std::string which = i.operandCount > 1 ? "(operand " + std::to_string(k) + ") " : "";
    for (size_t e = 0, n = run.count(r); e < n; ++e) {
      if (isLanes(run, r) && !run.laneActive(uint32_t(e / run.info(r).vectorLength))) continue;
      text += head + " idx " + indexText(e, shape) + prefix + which +
              elementText(p, e, run.info(r).elem, Shown((&i.as<imm::Print>().shown)[k]), i.as<imm::Print>().hex != 0) +
              "\n";
    }
  }
  if (!i.operandCount) text = head + prefix + "\n";
  if (m.printer)
    m.printer(text);
  else
    fputs(text.c_str(), stdout), fflush(stdout);  // seen even if the program never ends, and piped too
  return Step::Next;
}

Step assertOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* condition = data(m, run, i.a);
  const uint8_t* mask = i.b == kNone ? nullptr : data(m, run, i.b);
  size_t n = run.count(i.a), maskStep = mask && run.count(i.b) == n ? 1 : 0;
  bool lanes = isLanes(run, i.a);
  for (size_t k = 0; k < n; ++k) {
    if (condition[k] || (mask && !mask[k * maskStep]) || (lanes && !run.laneActive(uint32_t(k)))) continue;
    std::string text = "assertion failed: " + run.prepared->program->strings[size_t(i.as<imm::Assert>().message)];
    if (lanes)
      text += " (thread " + std::to_string(k) + ")";
    else if (n > 1)
      text += " (element " + std::to_string(k) + " of " + std::to_string(n) + ")";
    return fail(m, run, i, ReportKind::Assertion, text);
  }
  return Step::Next;
}

Step assumeOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* condition = data(m, run, i.a);
  for (size_t k = 0; k < run.count(i.a); ++k)
    if (!condition[k] && (!isLanes(run, i.a) || run.laneActive(uint32_t(k))))
      return fail(m, run, i, ReportKind::AssumeViolated, "`assume` does not hold");
  return Step::Next;
}

Step malformed(Machine& m, Run& run, const Prepared& i) {
  return fail(m, run, i, ReportKind::Unsupported, "this operation is not defined for its operand types");
}

}  // namespace handlers
}  // namespace tandem::interpreter
