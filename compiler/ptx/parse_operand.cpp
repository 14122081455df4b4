// Operands: registers, numbers, {vectors}, [addresses], a|b.
#include "compiler/ptx/parser.h"
#include <bit>

namespace tandem::ptx {

using Kind = Operand::Kind;

Operand Parser::operand() {
  Operand first = simple();
  if (!takeMark('|')) return first;
  Operand pair;
  pair.kind = Kind::Pair;
  pair.parts = {std::move(first), simple()};
  return pair;
}

Operand Parser::simple() {
  if (++nesting_ > kMaxNesting) fail("operands nest too deep");
  Operand made;
  if (failed()) {
  } else if (takeMark('{')) {
    made = list(Kind::Vector, '}');
  } else if (takeMark('[')) {
    made = address();
  } else if (takeMark('!')) {
    made = simple();
    made.negated = !made.negated;
    if (made.kind != Kind::Variable) fail("`!` belongs before a predicate");
  } else if (next().kind == Token::Kind::Operand) {
    const Token& token = tokens_.list[at_++];
    made.name = token.text;
    made.variable = static_cast<uint32_t>(token.bits);
    if (token.bits >= operandCount_) fail("the assembly has no operand `" + token.text + "`");
  } else if (next().kind == Token::Kind::Word) {
    made = named(expectWord("an operand"));
  } else {
    made = number();
  }
  --nesting_;
  return made;
}

Operand Parser::list(Kind kind, char end) {
  Operand made;
  made.kind = kind;
  do made.parts.push_back(operand());
  while (!failed() && takeMark(','));
  expectMark(end);
  return made;
}

// [base], [base+4], [base, {x, y}], [4096]
Operand Parser::address() {
  Operand made;
  made.kind = Kind::Address;
  made.parts.push_back(simple());
  while (isMark('+') || isMark('-')) {
    bool minus = isMark('-');
    ++at_;
    Operand by = number();
    if (by.kind != Kind::Integer) fail("an address is moved by a whole number of bytes");
    uint64_t sum = static_cast<uint64_t>(made.offset) + (minus ? uint64_t{0} - by.bits : by.bits);
    made.offset = static_cast<int64_t>(sum);
  }
  while (!failed() && takeMark(',')) made.parts.push_back(operand());
  expectMark(']');
  return made;
}

Operand Parser::number() {
  bool minus = takeMark('-');
  const Token& token = next();
  Operand made;
  made.kind = token.kind == Token::Kind::Integer ? Kind::Integer : Kind::Real;
  if (token.kind != Token::Kind::Integer && token.kind != Token::Kind::Real) {
    fail("`" + token.text + "` stands where an operand belongs");
    return made;
  }
  ++at_;
  made.bits = token.bits;
  made.realBits = token.realBits;
  if (minus && made.kind == Kind::Integer) made.bits = uint64_t{0} - made.bits;
  if (minus && made.kind == Kind::Real) made.bits ^= uint64_t{1} << (made.realBits == 32 ? 31 : 63);
  return made;
}

const uint32_t* Parser::findVariable(const std::string& name) const {
  for (size_t k = open_.size(); k-- > 0;) {
    auto found = scopes_[open_[k]].variables.find(name);
    if (found != scopes_[open_[k]].variables.end()) return &found->second;
  }
  return nullptr;
}

// A declared name comes before a special register: the text may declare a `%tid` of its own. A special register may
// have a part, `%tid.x`.
Operand Parser::named(const std::string& name) {
  Operand made;
  made.name = name;
  if (const uint32_t* variable = findVariable(name)) {
    made.variable = *variable;
  } else if (name == "_") {
    made.kind = Kind::Sink;
  } else if (name[0] == '%' || name == "WARP_SZ") {
    made.kind = Kind::Special;
    if (takeMark('.')) made.name += "." + expectWord("a part");
  } else {
    made.kind = Kind::Label;
  }
  return made;
}

}  // namespace tandem::ptx
