// A PTX statement as it is written, before it is decoded.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::emulator {

struct Operand {
  enum class Kind : uint8_t {
    Name,     // `name`: a register, a special register (%tid.x), a variable, a label or a function; `negated`: !%p
    Integer,  // `bits`, in two's complement of 64 bits
    Real,     // `bits`: with `realBits` 32 the number's own (0f...), else those of a double
    Vector,   // {parts...}
    Pair,     // parts[0]|parts[1]
    Address,  // [parts[0] + offset, parts[1]...]; parts[0] is a Name or an Integer
    List,     // (parts...), of a call
    Sink      // _
  };
  Kind kind{};
  bool negated = false;
  unsigned realBits = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> parts;
};

struct Statement {
  std::string guard;  // empty: none
  bool isGuardNegated = false;
  std::string opcode;                  // the word before the first point
  std::vector<std::string> modifiers;  // the words after it: {"shared::cta", "b32"}
  std::vector<Operand> operands;
  std::string text;         // as written
  uint32_t line = 0;        // in the PTX text, from 1
  uint32_t sourceFile = 0;  // of the last .loc; 0: none
  uint32_t sourceLine = 0;
};

}  // namespace tandem::emulator
