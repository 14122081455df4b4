// The state of decoding one kernel: scopes of names, slots for them, and the code so far.
#pragma once
#include "emulator/block_order.h"
#include "emulator/decoder.h"
#include "emulator/program.h"
#include "emulator/slots.h"
#include <map>
#include <unordered_map>

namespace tandem::emulator {

class Builder final : public Operands {
 public:
  using AddressOf = std::function<uint64_t(const std::string&)>;
  // `lives` is null in the first pass, which finds out when each slot is in use; the second gives shared slots.
  Builder(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry, const AddressOf& addressOf,
          const SlotLives* lives);
  std::shared_ptr<Program> run();
  SlotLives takeLives() { return std::move(recorded_); }

  Slot read(const Operand& operand, Type type) override;
  Slot write(const Operand& operand) override;
  Slot readPredicate(const Operand& operand) override;
  Slot writePredicate(const Operand& operand) override;
  unsigned registerBits(const Operand& operand) override;
  AddressSlot address(const Operand& operand) override;
  const uint32_t* label(const std::string& name) override;
  const std::vector<std::string>& targets(const std::string& name) override;
  const uint32_t* returnLabel() override;
  Slot carry() override { return carry_; }
  const Slot* keep(std::vector<Slot> list) override;
  void keep(std::shared_ptr<const void> detail) override { program_->details.push_back(std::move(detail)); }

 private:
  struct Entry {
    enum class Kind : uint8_t { Register, Predicate, Variable, Label, Targets } kind;
    unsigned bits = 0;        // of a register
    Slot slot = 0;            // of a register, virtual; of a predicate
    Initial::Kind initial{};  // a variable's address
    uint64_t value = 0;
    uint32_t* label = nullptr;
    const std::vector<std::string>* targets = nullptr;
  };
  struct Scope {
    std::unordered_map<std::string, Entry> names;
    std::vector<const ptx::Registers*> ranges;
  };
  struct Call {
    const ptx::Function* function;
    size_t firstScope;    // names of scopes before it are the caller's
    const uint32_t* end;  // null in the kernel itself
  };

  void layOutShared();
  void function(const ptx::Function& function);
  void openScope(const std::vector<ptx::Line>& body, size_t at);
  void declareVariable(const ptx::Variable& variable);
  void statement(const Statement& statement);
  void call(const Statement& statement);
  bool callHost(const Statement& statement, const std::string& name, const std::vector<Operand>& arguments,
                const std::vector<Operand>& results);
  void emit(Instruction instruction, const Statement& statement);
  void prepare(const Operand& operand, const Statement& statement);
  Entry* find(const std::string& name);
  Entry& known(const std::string& name, Entry::Kind kind);
  Slot initial(Initial::Kind kind, uint64_t value);
  Slot use(Slot slot, bool isWrite);
  Slot addressOf(const Entry& variable) { return initial(variable.initial, variable.value); }
  uint32_t* newLabel() { return &program_->labels.emplace_back(~0u); }
  void setLabel(uint32_t* label) { *label = uint32_t(program_->code.size()); }
  [[noreturn]] void fail(const std::string& why) const;

  std::shared_ptr<Program> program_;
  const AddressOf& addressOf_;
  const SlotLives* lives_;
  SlotLives recorded_;
  uint32_t virtualSlots_ = 0;
  std::vector<Scope> scopes_;
  std::vector<Call> calls_;
  std::map<std::pair<Initial::Kind, uint64_t>, Slot> initials_;
  std::unordered_map<const ptx::Variable*, uint32_t> shared_;  // offsets
  Slot sink_ = 0, sinkPredicate_ = 0, carry_ = 0;
  const Statement* current_ = nullptr;  // that is decoded
  Slot guard_ = Instruction::kAlways;
  Mask guardFlip_ = 0;
  std::vector<const uint32_t*> targets_;  // of labels that it names
  std::vector<Branch> branches_;
  std::map<std::string, Slot> prepared_;  // what instructions ahead of it have read or turned round
};

}  // namespace tandem::emulator
