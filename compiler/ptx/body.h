// A Body is the text of an inline assembly as statements over variables. Scopes and `.reg` ranges are resolved: each
// variable and label has an index. It knows which registers and operands there are, not what an instruction means.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::ptx {

// A register of the text. The first ones are the operands $0, $1, ...
struct Variable {
  std::string name;
  unsigned bits = 32;  // 1 for a predicate
};

struct Operand {
  enum class Kind : uint8_t {
    Variable,  // `variable`, for a predicate perhaps `negated`
    Special,   // `name`: %tid.x, WARP_SZ
    Integer,   // `bits`, in two's complement
    Real,      // `bits`: a double's; with `realBits` 32 or 64 the number's own (0f..., 0d...)
    Vector,    // {parts...}
    Pair,      // part|part
    Address,   // [parts[0] + offset, parts[1]...]
    Label,     // `variable` is its index
    Sink,      // _
  };
  Kind kind{};
  uint32_t variable = 0;
  bool negated = false;
  unsigned realBits = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> parts;
};

struct Instruction {
  bool isGuarded = false;  // @guard, @!guard
  Operand guard;
  std::string opcode;                  // the word before the first point
  std::vector<std::string> modifiers;  // the words after it
  std::vector<Operand> operands;
  std::string text;  // as written, without guard and semicolon
};

struct Label {
  std::string name;
  uint32_t position = 0;  // of the instruction it stands before; the count of instructions at the end
};

struct Body {
  std::vector<Variable> variables;
  std::vector<Label> labels;
  std::vector<Instruction> code;
};

}  // namespace tandem::ptx
