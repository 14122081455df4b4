// A PTX module as it is written: variables, functions, and their bodies as lines.
#pragma once
#include "emulator/statement.h"
#include "emulator/types.h"
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::emulator::ptx {

struct Variable {
  // A place in the initial value that holds the address of another variable.
  struct Pointer {
    uint64_t at;
    std::string name;
    int64_t offset;
  };
  std::string name;
  Space space{};
  uint64_t bytes = 0;  // 0: an extern array, whose size is the launch's
  uint32_t alignment = 1;
  std::vector<uint8_t> initial;  // empty: zeros
  std::vector<Pointer> pointers;
};

// `.reg .b32 %r<9>` declares %r0 to %r8; a range of none is the name alone.
struct Registers {
  std::string name;
  uint32_t count = 0;
  bool isRange = false;
  unsigned bits = 0;  // 1: predicates
};

struct Line {
  enum class Kind : uint8_t { Statement, Label, Registers, Variable, Targets, Open, Close };
  Kind kind{};
  Statement statement;
  std::string label;                 // of Label and Targets
  std::vector<std::string> targets;  // .branchtargets
  Registers registers;
  Variable variable;
};

struct Function {
  std::string name;
  bool isEntry = false, hasBody = false;
  std::vector<Variable> parameters, results;
  std::vector<Line> body;
  uint32_t threads = 0;                  // .reqntid, else .maxntid; 0: not stated
  uint32_t blocksPerMultiprocessor = 0;  // .minnctapersm
};

struct Module {
  std::vector<Variable> variables;
  std::map<std::string, Function, std::less<>> functions;
  std::map<uint32_t, std::string> files;  // of .loc
};

class ParseError : public std::runtime_error {
 public:
  ParseError(uint32_t line, const std::string& text)
      : std::runtime_error("line " + std::to_string(line) + ": " + text) {}
};

// Throws ParseError. Debug sections and directives that only help performance are passed over.
Module parse(std::string_view text);

}  // namespace tandem::emulator::ptx
