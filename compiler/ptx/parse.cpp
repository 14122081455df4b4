// Statements: declarations, labels, instructions with their guards, scopes.
#include "compiler/ptx/parse.h"
#include "compiler/ptx/parser.h"

namespace tandem::ptx {
namespace {

// 0 for a type that no register has.
unsigned bitsOfType(std::string_view type) {
  if (type == "pred") return 1;
  if (type == "b8" || type == "u8" || type == "s8") return 8;
  if (type == "b16" || type == "u16" || type == "s16" || type == "f16" || type == "bf16") return 16;
  if (type == "b32" || type == "u32" || type == "s32" || type == "f32" || type == "f16x2" || type == "bf16x2")
    return 32;
  if (type == "b64" || type == "u64" || type == "s64" || type == "f64") return 64;
  return 0;
}

}  // namespace

Parser::Parser(std::string_view text, std::span<const unsigned> operandBits)
    : text_(text), operandCount_(operandBits.size()), tokens_(lex(text)) {
  out_.error = tokens_.error;
  for (size_t i = 0; i < operandBits.size(); ++i)
    out_.body.variables.push_back({"$" + std::to_string(i), operandBits[i]});
  scopes_.emplace_back();
  open_.push_back(0);
}

bool Parser::takeMark(char c) {
  if (!isMark(c)) return false;
  ++at_;
  return true;
}

void Parser::expectMark(char c) {
  if (!takeMark(c)) fail(std::string("`") + c + "` is missing before `" + next().text + "`");
}

std::string Parser::expectWord(const char* what) {
  if (next().kind == Token::Kind::Word && !next().text.empty()) return tokens_.list[at_++].text;
  fail(std::string("`") + next().text + "` stands where " + what + " belongs");
  return "";
}

void Parser::fail(const std::string& message) {
  if (failed()) return;
  out_.error = message;
  at_ = tokens_.list.size() - 1;
}

Parsed Parser::run() {
  while (!failed() && next().kind != Token::Kind::End) statement();
  if (open_.size() > 1) fail("a `{` is never closed");
  resolveLabels();
  return std::move(out_);
}

void Parser::statement() {
  if (takeMark(';')) return;
  if (takeMark('{')) {
    if (open_.size() > kMaxScopes) return fail("scopes nest too deep");
    scopes_.push_back({open_.back(), {}, {}});
    open_.push_back(scopes_.size() - 1);
  } else if (takeMark('}')) {
    if (open_.size() == 1) return fail("a `}` has no `{`");
    open_.pop_back();
  } else if (takeMark('.')) {
    declaration();
  } else if (next().kind == Token::Kind::Word && tokens_.list[at_ + 1].text == ":") {
    std::string name = expectWord("a label");
    ++at_;
    label(name);
  } else {
    instruction();
  }
}

void Parser::declaration() {
  std::string what = expectWord("a declaration");
  if (what != "reg") return fail("`." + what + "` cannot stand in inline assembly here");
  expectMark('.');
  std::string type = expectWord("a type");
  unsigned bits = bitsOfType(type);
  if (!bits) return fail("a register cannot have the type `." + type + "`");
  do {
    std::string name = expectWord("a register's name");
    if (!takeMark('<')) {
      declare(name, bits);
      continue;
    }
    uint64_t count = next().bits;
    if (next().kind != Token::Kind::Integer || count > kMaxRange)
      return fail("`" + name + "<" + next().text + ">` is too many registers");
    ++at_;
    expectMark('>');
    for (uint64_t i = 0; i < count && !failed(); ++i) declare(name + std::to_string(i), bits);
  } while (takeMark(','));
  expectMark(';');
}

void Parser::declare(const std::string& name, unsigned bits) {
  if (failed()) return;
  auto [place, isNew] = scopes_[open_.back()].variables.try_emplace(name, out_.body.variables.size());
  if (!isNew) return fail("`" + name + "` is declared twice");
  out_.body.variables.push_back({name, bits});
}

void Parser::label(const std::string& name) {
  auto [place, isNew] = scopes_[open_.back()].labels.try_emplace(name, out_.body.labels.size());
  if (!isNew) return fail("the label `" + name + "` stands twice");
  out_.body.labels.push_back({name, static_cast<uint32_t>(out_.body.code.size())});
}

void Parser::instruction() {
  Instruction made;
  if (takeMark('@')) {
    made.isGuarded = true;
    made.guard = operand();
  }
  size_t begin = next().begin;
  made.opcode = expectWord("an instruction");
  modifiers(made);
  if (!isMark(';')) do
      made.operands.push_back(operand());
    while (!failed() && takeMark(','));
  size_t end = next().begin;
  expectMark(';');
  if (failed()) return;
  made.text = std::string(text_.substr(begin, end - begin));
  while (!made.text.empty() && isspace(static_cast<unsigned char>(made.text.back()))) made.text.pop_back();
  for (size_t i = 0; i < made.operands.size(); ++i)
    if (made.operands[i].kind == Operand::Kind::Label) jumps_.push_back({out_.body.code.size(), i, open_.back()});
  out_.body.code.push_back(std::move(made));
}

// `.shared::cta` is one word.
void Parser::modifiers(Instruction& into) {
  while (!failed() && takeMark('.')) {
    std::string word = expectWord("a modifier");
    while (isMark(':') && tokens_.list[at_ + 1].text == ":") {
      at_ += 2;
      word += "::" + expectWord("a modifier");
    }
    into.modifiers.push_back(std::move(word));
  }
}

void Parser::resolveLabels() {
  for (const Jump& jump : jumps_) {
    if (failed()) return;
    Operand& operand = out_.body.code[jump.instruction].operands[jump.operand];
    for (size_t scope = jump.scope;; scope = scopes_[scope].outer) {
      auto found = scopes_[scope].labels.find(operand.name);
      if (found != scopes_[scope].labels.end()) {
        operand.variable = found->second;
        break;
      }
      if (scope == 0) return fail("`" + operand.name + "` is not declared");
    }
  }
}

Parsed parse(std::string_view text, std::span<const unsigned> operandBits) { return Parser(text, operandBits).run(); }

}  // namespace tandem::ptx
