// Modules, functions and statements of PTX.
#include "emulator/ptx/parser.h"
#include <optional>

namespace tandem::emulator::ptx {
namespace {

std::optional<Space> spaceNamed(std::string_view word) {
  if (word == "global") return Space::Global;
  if (word == "const") return Space::Const;
  if (word == "shared") return Space::Shared;
  if (word == "local") return Space::Local;
  if (word == "param") return Space::Param;
  return std::nullopt;
}

}  // namespace

Module Parser::run() {
  while (peek()) statementOfModule();
  return std::move(out_);
}

void Parser::statementOfModule() {
  for (;;) {
    std::string word = directive();
    if (word == "version" || word == "target" || word == "address_size") {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (word == "file") {
      uint32_t index = uint32_t(integer());
      expect('"');
      size_t end = text_.find('"', at_);
      out_.files[index] = text_.substr(at_, end - at_);
      at_ = end + 1;
      while (takeIf(',')) integer();
      return;
    }
    if (word == "section") {
      while (peek() != '{' && peek()) ++at_;
      return skipBraces();
    }
    if (word == "pragma" || word == "alias") return skipTo(';');
    if (word == "entry" || word == "func") return function(word == "entry");
    if (std::optional<Space> space = spaceNamed(word)) {
      out_.variables.push_back(variable(*space));
      return expect(';');
    }
    if (word != "visible" && word != "extern" && word != "weak" && word != "common")
      fail("`." + word + "` is not known");
  }
}

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> out;
  if (!takeIf('(')) return out;
  while (!takeIf(')')) {
    std::optional<Space> space = spaceNamed(directive());
    out.push_back(variable(space.value_or(Space::Param)));
    takeIf(',');
  }
  return out;
}

void Parser::function(bool isEntry) {
  Function made;
  made.isEntry = isEntry;
  if (peek() == '.') skipTo(' ');  // .attribute(...)
  if (!isEntry) made.results = parameters();
  made.name = word("a function's name");
  made.parameters = parameters();
  functionDirectives(made);
  if (!takeIf(';')) {
    made.hasBody = true;
    body(made);
  }
  Function& known = out_.functions[made.name];
  if (made.hasBody || !known.hasBody) known = std::move(made);
}

void Parser::functionDirectives(Function& into) {
  while (peek() == '.') {
    std::string word = directive();
    if (word == "pragma") {
      skipTo(';');
    } else if (word != "noreturn" && word != "explicitcluster" && word != "blocksareclusters") {
      uint64_t product = integer();
      while (takeIf(',')) product *= integer();
      if (word == "reqntid" || word == "maxntid") into.threads = uint32_t(product);
      if (word == "minnctapersm") into.blocksPerMultiprocessor = uint32_t(product);
    }
  }
}

void Parser::body(Function& into) {
  sourceFile_ = sourceLine_ = 0;
  expect('{');
  auto add = [&](Line::Kind kind) -> Line& {
    into.body.emplace_back().kind = kind;
    return into.body.back();
  };
  for (int depth = 1; depth;) {
    char c = peek();
    if (takeIf('{')) {
      add(Line::Kind::Open);
      ++depth;
    } else if (takeIf('}')) {
      if (--depth) add(Line::Kind::Close);
    } else if (c == '.') {
      bodyDirective(into);
    } else if (c == '@' || c == '\0') {
      instruction(into);
    } else {
      size_t begin = at_;
      uint32_t line = line_;
      std::string label = word("a statement");
      if (takeIf(':')) {
        if (peek() == '.' && text_.substr(at_).starts_with(".branchtargets")) {
          directive();
          Line& targets = add(Line::Kind::Targets);
          targets.label = label;
          do targets.targets.push_back(word("a label"));
          while (takeIf(','));
          expect(';');
        } else {
          add(Line::Kind::Label).label = label;
        }
      } else {
        at_ = begin;
        line_ = line;
        instruction(into);
      }
    }
  }
}

void Parser::bodyDirective(Function& into) {
  std::string word = directive();
  if (word == "loc") return location();
  if (word == "pragma") return skipTo(';');
  if (word == "reg") return registers(into);
  std::optional<Space> space = spaceNamed(word);
  if (!space) fail("`." + word + "` is not known");
  Line& line = into.body.emplace_back();
  line.kind = Line::Kind::Variable;
  line.variable = variable(*space);
  expect(';');
}

void Parser::registers(Function& into) {
  std::string name = directive();
  std::optional<Type> type = typeNamed(name);
  if (!type) fail("`." + name + "` is no type of registers");
  do {
    Line& line = into.body.emplace_back();
    line.kind = Line::Kind::Registers;
    line.registers.name = word("a register's name");
    line.registers.bits = bitsOf(*type);
    if (takeIf('<')) {
      line.registers.isRange = true;
      line.registers.count = uint32_t(integer());
      expect('>');
    }
  } while (takeIf(','));
  expect(';');
}

// .loc file line column [, function_name label [+ n], inlined_at file line column]
void Parser::location() {
  sourceFile_ = uint32_t(integer());
  sourceLine_ = uint32_t(integer());
  at_ = std::min(text_.find('\n', at_), text_.size());
}

void Parser::opcode(Statement& into) {
  into.opcode = word("an instruction");
  while (at_ < text_.size() && text_[at_] == '.') {
    size_t begin = ++at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  text_.substr(at_, 2) == "::" || text_[at_ - 1] == ':'))
      at_ += text_[at_] == ':' ? 2 : 1;
    into.modifiers.emplace_back(text_.substr(begin, at_ - begin));
  }
}

void Parser::instruction(Function& into) {
  Line& line = into.body.emplace_back();
  Statement& out = line.statement;
  peek();
  out.line = line_;
  out.sourceFile = sourceFile_;
  out.sourceLine = sourceLine_;
  size_t begin = at_;
  if (takeIf('@')) {
    out.isGuardNegated = takeIf('!');
    out.guard = word("a predicate");
  }
  peek();
  opcode(out);
  if (peek() != ';') {
    do out.operands.push_back(operand());
    while (takeIf(','));
  }
  skipSpace();
  out.text = text_.substr(begin, at_ - begin);
  expect(';');
}

Module parse(std::string_view text) { return Parser(text).run(); }

}  // namespace tandem::emulator::ptx
