// Operands to slots.
#include "emulator/builder.h"
#include "emulator/special_registers.h"

namespace tandem::emulator {
namespace {

uint64_t bitsAs(const Operand& operand, Type type) {
  if (operand.kind == Operand::Kind::Integer) return operand.bits;
  bool isWide = bitsOf(type) == 64;
  if (operand.realBits == 64 && !isWide) return std::bit_cast<uint32_t>(float(std::bit_cast<double>(operand.bits)));
  if (operand.realBits == 32 && type == Type::F64)
    return std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(operand.bits))));
  return operand.bits;
}

}  // namespace

Slot Builder::use(Slot slot, bool isWrite) {
  if (lives_) return lives_->of(slot);
  recorded_.note(slot, uint32_t(program_->code.size()), isWrite && guard_ == Instruction::kAlways);
  return slot;
}

Slot Builder::initial(Initial::Kind kind, uint64_t value) {
  auto [found, isNew] = initials_.try_emplace({kind, value}, 0);
  if (!isNew) return found->second;
  Slot slot = virtualSlots_++;
  if (lives_)
    slot = lives_->of(slot);
  else
    recorded_.keepForever(slot);
  program_->initial.push_back({slot, kind, value});
  return found->second = slot;
}

Slot Builder::read(const Operand& operand, Type type) {
  if (operand.kind == Operand::Kind::Integer || operand.kind == Operand::Kind::Real)
    return initial(Initial::Kind::Constant, bitsAs(operand, type));
  if (operand.kind == Operand::Kind::Sink) return initial(Initial::Kind::Constant, 0);
  if (operand.kind != Operand::Kind::Name) throw std::invalid_argument("a register or constant is expected");
  if (auto found = prepared_.find(operand.name); found != prepared_.end()) return use(found->second, false);
  if (operand.name == "WARP_SZ") return initial(Initial::Kind::Constant, kLanes);
  if (std::optional<Initial::Kind> special = constantRegister(operand.name)) return initial(*special, 0);
  Entry* entry = find(operand.name);
  if (!entry) fail("`" + operand.name + "` is not declared");
  if (entry->kind == Entry::Kind::Register) return use(entry->slot, false);
  if (entry->kind == Entry::Kind::Variable) return initial(entry->initial, entry->value + uint64_t(operand.offset));
  throw std::invalid_argument("`" + operand.name + "` is no register");
}

Slot Builder::write(const Operand& operand) {
  if (operand.kind == Operand::Kind::Sink) return lives_ ? lives_->of(sink_) : sink_;
  return use(known(operand.name, Entry::Kind::Register).slot, true);
}

Slot Builder::readPredicate(const Operand& operand) {
  if (operand.kind == Operand::Kind::Integer) {
    if (!operand.bits) throw std::invalid_argument("a predicate that is never true is not known");
    return Instruction::kAlways;
  }
  if (operand.negated) return prepared_.at("!" + operand.name);
  return known(operand.name, Entry::Kind::Predicate).slot;
}

Slot Builder::writePredicate(const Operand& operand) {
  return operand.kind == Operand::Kind::Sink ? sinkPredicate_ : known(operand.name, Entry::Kind::Predicate).slot;
}

unsigned Builder::registerBits(const Operand& operand) {
  if (operand.kind != Operand::Kind::Name) return 0;
  if (Entry* entry = find(operand.name))
    return entry->kind == Entry::Kind::Register ? entry->bits : entry->kind == Entry::Kind::Predicate ? 1 : 0;
  return 0;
}

AddressSlot Builder::address(const Operand& operand) {
  if (operand.kind != Operand::Kind::Address) throw std::invalid_argument("an address is expected");
  return {read(operand.parts[0], Type::B64), operand.offset};
}

// A branch to a label that stands already closes a loop.
const uint32_t* Builder::label(const std::string& name) {
  uint32_t* label = known(name, Entry::Kind::Label).label;
  if (*label != ~0u && !lives_) recorded_.noteLoop(*label, uint32_t(program_->code.size()));
  targets_.push_back(label);
  return label;
}

const uint32_t* Builder::returnLabel() {
  if (calls_.back().end) targets_.push_back(calls_.back().end);
  return calls_.back().end;
}

const std::vector<std::string>& Builder::targets(const std::string& name) {
  return *known(name, Entry::Kind::Targets).targets;
}

const Slot* Builder::keep(std::vector<Slot> list) { return program_->lists.emplace_back(std::move(list)).data(); }

}  // namespace tandem::emulator
