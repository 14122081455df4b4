// Variables of PTX with their initial values.
#include "emulator/ptx/parser.h"
#include <bit>

namespace tandem::emulator::ptx {

// [.align n] [.v4] .type name [count]... [= value]
Variable Parser::variable(Space space) {
  Variable out;
  out.space = space;
  unsigned elementBytes = 0, vector = 1;
  while (peek() == '.') {
    std::string modifier = directive();
    if (modifier == "align") {
      out.alignment = uint32_t(integer());
    } else if (modifier == "v2" || modifier == "v4") {
      vector = unsigned(modifier[1] - '0');
    } else if (modifier == "attribute") {
      skipTo(')');
    } else if (modifier == "ptr") {  // of a parameter: what it points to
      while (peek() == '.') {
        if (directive() == "align") integer();
      }
      break;
    } else if (std::optional<Type> type = typeNamed(modifier)) {
      elementBytes = std::max(1u, bitsOf(*type) / 8);
    } else {
      fail("`." + modifier + "` before a variable's name is not known");
    }
  }
  if (!elementBytes) fail("a variable without a type");
  out.name = word("a variable's name");
  out.alignment = std::max(out.alignment, elementBytes * vector);
  uint64_t count = vector;
  bool isSizeOpen = false;
  while (takeIf('[')) {
    if (peek() == ']')
      isSizeOpen = true;
    else
      count *= integer();
    expect(']');
  }
  out.bytes = isSizeOpen ? 0 : count * elementBytes;
  if (takeIf('=')) initialValue(out, elementBytes);
  return out;
}

void Parser::initialValue(Variable& into, unsigned elementBytes) {
  uint64_t at = 0;
  initialElement(into, elementBytes, at);
  into.bytes = std::max(into.bytes, at);
  into.initial.resize(into.bytes);
}

void Parser::initialElement(Variable& into, unsigned elementBytes, uint64_t& at) {
  if (takeIf('{')) {
    if (takeIf('}')) return;
    do initialElement(into, elementBytes, at);
    while (takeIf(','));
    return expect('}');
  }
  into.initial.resize(std::max<size_t>(into.initial.size(), at + elementBytes));
  uint64_t bits = 0;
  if (takeWord("generic")) {
    expect('(');
    Operand target = simple();
    expect(')');
    into.pointers.push_back({at, target.name, target.offset + sum()});
  } else if (Operand value = simple(); value.kind == Operand::Kind::Name) {
    into.pointers.push_back({at, value.name, value.offset});
  } else {
    bits = value.bits;
    if (value.kind == Operand::Kind::Real && value.realBits == 64 && elementBytes == 4)
      bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(value.bits)));
  }
  for (unsigned i = 0; i < elementBytes; ++i) into.initial[at++] = uint8_t(bits >> 8 * i);
}

}  // namespace tandem::emulator::ptx
