// A decoder shows a family of instructions one statement: its modifiers, and slots for its operands.
#pragma once
#include "emulator/instruction.h"
#include "emulator/statement.h"
#include "emulator/types.h"
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::emulator {

struct AddressSlot {
  Slot base;
  int64_t offset;
};

// Gives slots for the names of one program; builder.h has the one that there is.
class Operands {
 public:
  virtual ~Operands() = default;
  virtual Slot read(const Operand& operand, Type type) = 0;
  virtual Slot write(const Operand& operand) = 0;
  virtual Slot readPredicate(const Operand& operand) = 0;
  virtual Slot writePredicate(const Operand& operand) = 0;
  virtual unsigned registerBits(const Operand& operand) = 0;
  virtual AddressSlot address(const Operand& operand) = 0;
  virtual const uint32_t* label(const std::string& name) = 0;
  virtual const std::vector<std::string>& targets(const std::string& name) = 0;
  virtual const uint32_t* returnLabel() = 0;
  virtual Slot carry() = 0;
  virtual const Slot* keep(std::vector<Slot> list) = 0;
  virtual void keep(std::shared_ptr<const void> detail) = 0;
};

// Each modifier is taken once, in any order; a modifier that nobody takes makes the instruction unknown. Every function
// throws std::invalid_argument if the statement is not as asked.
class Decoder {
 public:
  Decoder(const Statement& statement, Operands& operands);

  const Statement& statement;
  Instruction out;  // to be filled

  bool has(std::string_view modifier) const;
  bool take(std::string_view modifier);
  void ignore(std::initializer_list<std::string_view> modifiers);
  // The first modifier that begins with `prefix`, without it; empty if there is none.
  std::string takeAfter(std::string_view prefix);
  std::optional<Type> takeTypeIfAny();  // the leftmost type that is left
  Type takeType();
  Space takeSpace();  // .global, .shared, .shared::cta, .shared::cluster, .local, .param, .const, or generic
  void expectNoMore() const;

  size_t count() const { return statement.operands.size(); }
  const Operand& operand(size_t index) const;
  // A slot to read: of a register, a constant of that type, a special register, a variable's address.
  Slot read(size_t index, Type type) { return operands_.read(operand(index), type); }
  Slot read(const Operand& operand, Type type) { return operands_.read(operand, type); }
  // A slot to write; of `_` one that nobody reads.
  Slot write(size_t index) { return operands_.write(operand(index)); }
  Slot write(const Operand& operand) { return operands_.write(operand); }
  // Predicates' slots are among the warp's masks. A negated or constant one has a slot of its own, to be read only.
  Slot readPredicate(const Operand& operand) { return operands_.readPredicate(operand); }
  Slot writePredicate(const Operand& operand) { return operands_.writePredicate(operand); }
  unsigned registerBits(size_t index) {
    return operands_.registerBits(operand(index));
  }  // 1: a predicate; 0: no register
  AddressSlot address(size_t index) { return operands_.address(operand(index)); }
  AddressSlot address(const Operand& operand) { return operands_.address(operand); }
  // The place that will hold a label's position in the program when all is decoded.
  const uint32_t* label(const std::string& name) { return operands_.label(name); }
  const std::vector<std::string>& targets(const std::string& name) { return operands_.targets(name); }
  Slot carry() { return operands_.carry(); }                         // a predicate: the condition code
  const uint32_t* returnLabel() { return operands_.returnLabel(); }  // null: the thread ends

  const Slot* keep(std::vector<Slot> list) { return operands_.keep(std::move(list)); }
  template <class T> const T* keepDetail(T detail) {
    auto made = std::make_shared<const T>(std::move(detail));
    operands_.keep(made);
    return made.get();
  }

  [[noreturn]] void fail(const std::string& why) const;

 private:
  Operands& operands_;
  std::vector<bool> taken_;
};

// A family lists the opcodes (the word before the first point) that it decodes.
struct Family {
  std::string_view opcode;
  void (*decode)(Decoder&);
};

}  // namespace tandem::emulator
