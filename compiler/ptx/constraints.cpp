// One constraint after the other, without spaces.
#include "compiler/ptx/constraints.h"
#include <algorithm>
#include <cctype>

namespace tandem::ptx {
namespace {

// 0 for a letter that is no PTX register.
unsigned bitsOf(char letter) {
  switch (letter) {
    case 'b': return 1;
    case 'c':
    case 'h': return 16;
    case 'r':
    case 'n':
    case 'f': return 32;
    case 'l':
    case 'N':
    case 'd': return 64;
    default: return 0;
  }
}

void parseOne(std::string_view word, Constraints& out) {
  if (word.starts_with('~')) return;
  auto wrong = [&](const std::string& why) { out.error = "the constraint `" + std::string(word) + "` " + why; };
  bool isOutput = word.starts_with('=');
  std::string_view code = word.substr(isOutput ? 1 : 0);
  if (isOutput && code.starts_with('&')) code.remove_prefix(1);
  if (code.empty()) return wrong("names no register");
  Constraint constraint;
  if (!isOutput && std::isdigit(static_cast<unsigned char>(code[0]))) {
    size_t tied = 0;
    for (char c : code)
      tied = std::isdigit(static_cast<unsigned char>(c)) && tied < 1000 ? tied * 10 + size_t(c - '0') : 1000;
    if (tied >= out.outputs.size()) return wrong("is tied to no output");
    constraint = {out.outputs[tied].bits, static_cast<int>(tied)};
  } else {
    constraint.bits = code.size() == 1 ? bitsOf(code[0]) : 0;
    if (!constraint.bits) return wrong("is no PTX register that the simulator has");
  }
  if (isOutput && !out.inputs.empty()) return wrong("stands after an input");
  (isOutput ? out.outputs : out.inputs).push_back(constraint);
}

}  // namespace

Constraints parseConstraints(std::string_view text) {
  Constraints out;
  std::string plain(text);
  std::erase_if(plain, [](unsigned char c) { return std::isspace(c); });
  for (size_t at = 0; at < plain.size() && out.error.empty();) {
    size_t end = std::min(plain.find(',', at), plain.size());
    parseOne(std::string_view(plain).substr(at, end - at), out);
    at = end + 1;
  }
  return out;
}

}  // namespace tandem::ptx
