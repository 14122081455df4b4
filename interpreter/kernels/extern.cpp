// This file looks device-library functions up by symbol. The three tables have their meanings.
#include "interpreter/kernels/extern_table.h"

namespace tandem::interpreter {
namespace {

const ExternTable& externTable() {
  static const ExternTable table = [] {
    ExternTable t;
    addFloatExterns(t);
    addIntegerExterns(t);
    addRoundingExterns(t);
    return t;
  }();
  return table;
}

}  // namespace

std::optional<ExternSignature> externSignature(std::string_view symbol) {
  auto found = externTable().find(symbol);
  if (found == externTable().end()) return std::nullopt;
  return found->second.signature;
}

ExternKernel externKernel(const std::string& symbol, Elem elem, int operandCount) {
  auto found = externTable().find(symbol);
  if (found == externTable().end()) return nullptr;
  const ExternEntry& entry = found->second;
  bool fits =
      entry.signature.operands.size() == static_cast<size_t>(operandCount) && entry.signature.operands.front() == elem;
  return fits ? entry.kernel : nullptr;
}

std::vector<std::string> externSymbols() {
  std::vector<std::string> symbols;
  for (const auto& [symbol, entry] : externTable()) symbols.push_back(symbol);
  return symbols;
}

}  // namespace tandem::interpreter
