// The state of parsing one text. Statements are in parse.cpp, operands in parse_operand.cpp.
#pragma once
#include "compiler/ptx/lex.h"
#include "compiler/ptx/parse.h"
#include <map>

namespace tandem::ptx {

class Parser {
 public:
  Parser(std::string_view text, std::span<const unsigned> operandBits);
  Parsed run();

 private:
  // The declarations of a `{ ... }`. `outer` is the index of the scope around it.
  struct Scope {
    size_t outer = 0;
    std::map<std::string, uint32_t, std::less<>> variables, labels;
  };
  // A branch whose label may come later.
  struct Jump {
    size_t instruction, operand, scope;
  };

  const Token& next() const { return tokens_.list[at_]; }
  bool isMark(char c) const { return next().kind == Token::Kind::Mark && next().text[0] == c; }
  bool takeMark(char c);
  void expectMark(char c);
  std::string expectWord(const char* what);
  void fail(const std::string& message);
  bool failed() const { return !out_.error.empty(); }

  void statement();
  void declaration();
  void declare(const std::string& name, unsigned bits);
  void label(const std::string& name);
  void instruction();
  void modifiers(Instruction& into);
  void resolveLabels();

  Operand operand();
  Operand simple();
  Operand list(Operand::Kind kind, char end);
  Operand address();
  Operand number();
  Operand named(const std::string& name);
  const uint32_t* findVariable(const std::string& name) const;

  static constexpr size_t kMaxRange = 4096;  // registers of one `.reg` range
  static constexpr size_t kMaxScopes = 64;   // in each other
  static constexpr int kMaxNesting = 8;      // of operands in each other

  std::string_view text_;
  size_t operandCount_;
  Tokens tokens_;
  size_t at_ = 0;
  Parsed out_;
  std::vector<Scope> scopes_;
  std::vector<size_t> open_;  // scopes from the outermost to the innermost
  std::vector<Jump> jumps_;
  int nesting_ = 0;
};

}  // namespace tandem::ptx
