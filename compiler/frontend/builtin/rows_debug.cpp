// Assertions and printing, at compile time and on the device, and the program-wide barrier.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value staticAssert(Context& c, const Arguments& a) {
  if (a["cond"].isTensor())
    c.failConstexpr(c.place.range,
                    "`static_assert` needs a condition known at compile time, not " + describe(a["cond"]), a["cond"]);
  if (truth(c, a["cond"])) return None{};
  std::string message = a["msg"].is<std::string>() ? a["msg"].as<std::string>() : repr(a["msg"]);
  c.fail("static-assert", message.empty() ? "static assertion failed" : "static assertion failed: " + message);
}

static std::string shown(const Value& value) {
  return value.is<std::string>() ? value.as<std::string>() : value.isTensor() ? describe(value) : repr(value);
}

static Value staticPrint(Context& c, const Arguments& a) {
  if (!c.staticPrint) return None{};
  std::string text, separator = shown(a["sep"]);
  for (size_t i = 0; i < a.rest().size(); ++i) text += (i ? separator : "") + shown(a.rest()[i]);
  c.staticPrint(text + shown(a["end"]));
  return None{};
}

// Triton's spacing: " prefix: " before values.
static std::string spacedPrefix(std::string prefix, bool hasValues) {
  if (hasValues && !prefix.ends_with(' ')) prefix += ' ';
  if (hasValues && !prefix.ends_with(": ")) prefix.replace(prefix.size() - 1, 1, ": ");
  return prefix.size() > 2 && !prefix.starts_with(' ') ? " " + prefix : prefix;
}

static Value devicePrint(Context& c, const Arguments& a) {
  std::vector<mlir::Value> values;
  std::vector<bool> isSigned;
  for (const Value& value : a.rest()) {
    Tensor tensor = toTensor(c, value);
    values.push_back(tensor.value);
    isSigned.push_back(tensor.type.dtype.isSigned());
  }
  llvm::SmallVector<bool> flags(isSigned.begin(), isSigned.end());
  std::string prefix = spacedPrefix(constexprString(c, a["prefix"], "prefix"), !values.empty());
  tile::PrintOp::create(c.builder, c.loc(), prefix, constexprBool(c, a["hex"], "hex"), flags, values);
  return None{};
}

static Value asserted(Context& c, const Arguments& a) {
  Tensor condition = toTensor(c, compare(c, ast::CompareOp::Ne, toTensor(c, a["cond"]), Int(0)));
  mlir::Value mask;
  if (!a["mask"].isNone()) mask = broadcastTo(c, toTensor(c, a["mask"]), condition.type.shape).value;
  tile::AssertOp::create(c.builder, c.loc(), condition.value, constexprString(c, a["msg"], "msg"), mask);
  return None{};
}

static Value deviceAssert(Context& c, const Arguments& a) { return c.options.debug ? asserted(c, a) : Value(None{}); }

static Value expectRow(Context& c, const Arguments& a) {
  return c.options.target == "sim" ? asserted(c, a) : Value(None{});
}

static Value debugBarrier(Context& c, const Arguments&) {
  simt::BarrierOp::create(c.builder, c.loc());
  return None{};
}

void addDebugRows(Rows& rows) {
  rows.push_back({"tl.static_assert",
                  "cond, msg=''",
                  {"Ends the compilation with `msg` if the constant `cond` is false.", Caller::Compiler},
                  staticAssert});
  rows.push_back({"tl.static_print",
                  "*values, sep=' ', end='\\n', file=None, flush=False",
                  {"Prints constants while the kernel is compiled.", Caller::Compiler},
                  staticPrint});
  rows.push_back({"tl.device_print", "prefix, *args, hex=False",
                  "Prints values of the program, each with its program's index.", devicePrint});
  rows.push_back({"tl.device_assert", "cond, msg='', mask=None",
                  "Ends the run with `msg` where `cond` is false and `mask` true.", deviceAssert});
  rows.push_back({"extra.expect", "cond, msg='', mask=None",
                  "Ends a simulated run with `msg` where `cond` is false and `mask` true. GPUs do not look.",
                  expectRow});
  rows.push_back({"tl.debug_barrier",
                  "",
                  {"A barrier of the program's threads, which orders their accesses.", Caller::Block, "M3"},
                  debugBarrier});
}

}  // namespace tandem::frontend::builtin
