// The state of reading one PTX text. Characters and operands are in parse_operand.cpp, directives in parse_variable.cpp,
// the rest in parse.cpp.
#pragma once
#include "emulator/ptx/module.h"

namespace tandem::emulator::ptx {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Module run();

 private:
  [[noreturn]] void fail(const std::string& why) const { throw ParseError(line_, why); }
  void skipSpace();
  char peek();
  bool takeIf(char c);
  void expect(char c);
  bool atWord(std::string_view word);  // and what follows is no part of it
  bool takeWord(std::string_view word);
  std::string word(const char* what);  // letters, digits, _ $ %
  std::string directive();             // .word
  void skipTo(char end);               // behind it
  void skipBraces();
  uint64_t integer();
  Operand number();

  void statementOfModule();
  void function(bool isEntry);
  void functionDirectives(Function& into);
  std::vector<Variable> parameters();
  void body(Function& into);
  void bodyDirective(Function& into);
  void registers(Function& into);
  void location();
  void instruction(Function& into);
  void opcode(Statement& into);

  Variable variable(Space space);
  void initialValue(Variable& into, unsigned elementBytes);
  void initialElement(Variable& into, unsigned elementBytes, uint64_t& at);

  Operand operand();
  Operand simple();
  Operand list(Operand::Kind kind, char end);
  Operand address();
  int64_t sum();  // + 8, - 8, +-8, or nothing

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  Module out_;
  uint32_t sourceFile_ = 0, sourceLine_ = 0;
};

}  // namespace tandem::emulator::ptx
