// Statements to instructions: scopes, labels, calls.
#include "emulator/builder.h"
#include "emulator/block.h"
#include "emulator/instructions/families.h"
#include "emulator/instructions/host_calls.h"
#include "emulator/special_registers.h"
#include "emulator/warp.h"
#include <algorithm>
#include <set>

namespace tandem::emulator {
namespace {

uint32_t alignUp(uint32_t value, uint32_t alignment) { return (value + alignment - 1) / alignment * alignment; }

Outcome turnRound(Warp& warp, const Instruction& in, Mask active) {
  warp.setPredicate(in.slots[0], active, ~warp.predicate(in.slots[1]));
  return Outcome::Next;
}

constexpr size_t kMaxCalls = 64;  // in each other: functions that call themselves are not known

}  // namespace

Builder::Builder(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry, const AddressOf& addressOf,
                 const SlotLives* lives)
    : program_(std::make_shared<Program>()), addressOf_(addressOf), lives_(lives) {
  program_->module = std::move(module);
  program_->function = &entry;
}

void Builder::fail(const std::string& why) const { throw ptx::ParseError(current_ ? current_->line : 0, why); }

std::shared_ptr<Program> Builder::run() {
  sink_ = virtualSlots_++;
  if (!lives_) recorded_.keepForever(sink_);
  sinkPredicate_ = program_->predicateCount++;
  carry_ = program_->predicateCount++;
  scopes_.emplace_back();
  layOutShared();
  for (const ptx::Variable& variable : program_->module->variables) declareVariable(variable);
  const ptx::Function& entry = *program_->function;
  calls_.push_back({&entry, scopes_.size(), nullptr});
  scopes_.emplace_back();
  for (const ptx::Variable& parameter : entry.parameters) {
    uint32_t at = alignUp(program_->parameterBytes, parameter.alignment);
    program_->parameters.push_back({at, uint32_t(parameter.bytes)});
    program_->parameterBytes = at + uint32_t(parameter.bytes);
    Entry made{Entry::Kind::Variable};
    made.initial = Initial::Kind::Param;
    made.value = at;
    scopes_.back().names.emplace(parameter.name, made);
  }
  function(entry);
  static const Statement end = [] {
    Statement made;
    made.opcode = made.text = "exit";
    return made;
  }();
  statement(end);
  if (lives_) {
    for (Slot s = 0; s < virtualSlots_; ++s) program_->slotCount = std::max(program_->slotCount, lives_->of(s) + 1);
    orderBlocks(*program_, branches_, branchHandler());
  }
  return program_;
}

void Builder::layOutShared() {
  uint32_t bytes = 0;
  auto place = [&](const ptx::Variable& variable) {
    if (variable.space != Space::Shared || !variable.bytes) return;
    shared_[&variable] = alignUp(bytes, variable.alignment);
    bytes = shared_[&variable] + uint32_t(variable.bytes);
  };
  for (const ptx::Variable& variable : program_->module->variables) place(variable);
  for (const auto& [name, function] : program_->module->functions)
    for (const ptx::Line& line : function.body)
      if (line.kind == ptx::Line::Kind::Variable) place(line.variable);
  program_->staticSharedBytes = bytes;
}

// An extern array of shared memory lies behind all others.
void Builder::declareVariable(const ptx::Variable& variable) {
  Entry made{Entry::Kind::Variable};
  made.initial = Initial::Kind::Constant;
  if (variable.space == Space::Shared) {
    auto placed = shared_.find(&variable);
    uint32_t offset =
        placed != shared_.end() ? placed->second : alignUp(program_->staticSharedBytes, variable.alignment);
    if (placed == shared_.end()) program_->staticSharedBytes = offset;
    made.value = Block::kSharedBegin + offset;
  } else if (variable.space == Space::Local || variable.space == Space::Param) {
    made.initial = Initial::Kind::Local;
    made.value = alignUp(program_->localBytes, variable.alignment);
    program_->localBytes = uint32_t(made.value + variable.bytes);
  } else {
    made.value = addressOf_(variable.name);
  }
  scopes_.back().names[variable.name] = made;
}

void Builder::openScope(const std::vector<ptx::Line>& body, size_t at) {
  scopes_.emplace_back();
  using Kind = ptx::Line::Kind;
  for (int depth = 0; at < body.size() && depth >= 0; ++at) {
    const ptx::Line& line = body[at];
    depth += line.kind == Kind::Open ? 1 : line.kind == Kind::Close ? -1 : 0;
    if (depth || (line.kind != Kind::Label && line.kind != Kind::Targets)) continue;
    Entry made{line.kind == Kind::Label ? Entry::Kind::Label : Entry::Kind::Targets};
    if (line.kind == Kind::Label)
      made.label = newLabel();
    else
      made.targets = &line.targets;
    scopes_.back().names.emplace(line.label, made);
  }
}

void Builder::function(const ptx::Function& function) {
  size_t depth = scopes_.size();
  openScope(function.body, 0);
  for (size_t i = 0; i < function.body.size(); ++i) {
    const ptx::Line& line = function.body[i];
    switch (line.kind) {
      case ptx::Line::Kind::Statement: statement(line.statement); break;
      case ptx::Line::Kind::Label: setLabel(scopes_.back().names.at(line.label).label); break;
      case ptx::Line::Kind::Registers: scopes_.back().ranges.push_back(&line.registers); break;
      case ptx::Line::Kind::Variable: declareVariable(line.variable); break;
      case ptx::Line::Kind::Targets: break;
      case ptx::Line::Kind::Open: openScope(function.body, i + 1); break;
      case ptx::Line::Kind::Close: scopes_.pop_back(); break;
    }
  }
  scopes_.resize(depth);
}

Builder::Entry* Builder::find(const std::string& name) {
  size_t digits = name.find_last_not_of("0123456789") + 1;
  auto inScope = [&](Scope& scope) -> Entry* {
    auto found = scope.names.find(name);
    if (found != scope.names.end()) return &found->second;
    for (const ptx::Registers* range : scope.ranges) {
      if (range->isRange ? digits == name.size() || name.compare(0, digits, range->name) != 0 ||
                               std::stoull(name.substr(digits)) >= range->count
                         : name != range->name)
        continue;
      Entry made{range->bits == 1 ? Entry::Kind::Predicate : Entry::Kind::Register, range->bits};
      made.slot = range->bits == 1 ? program_->predicateCount++ : virtualSlots_;
      if (range->bits != 1) virtualSlots_ += std::max(1u, range->bits / 64);
      return &scope.names.emplace(name, made).first->second;
    }
    return nullptr;
  };
  for (size_t i = scopes_.size(); i-- > calls_.back().firstScope;)
    if (Entry* found = inScope(scopes_[i])) return found;
  return inScope(scopes_.front());
}

Builder::Entry& Builder::known(const std::string& name, Entry::Kind kind) {
  Entry* found = find(name);
  if (!found) fail("`" + name + "` is not declared");
  if (found->kind != kind) fail("`" + name + "` is of another kind than the instruction needs");
  return *found;
}

// Negated predicates and registers that change are brought by instructions ahead, so that handlers read slots only.
void Builder::prepare(const Operand& operand, const Statement& statement) {
  for (const Operand& part : operand.parts) prepare(part, statement);
  if (operand.kind != Operand::Kind::Name) return;
  Instruction made;
  if (operand.negated) {
    made.slots[0] = program_->predicateCount++;
    made.slots[1] = known(operand.name, Entry::Kind::Predicate).slot;
    made.handler = turnRound;
    prepared_["!" + operand.name] = made.slots[0];
  } else if (Handler handler = changingRegister(operand.name)) {
    Slot slot = virtualSlots_++;
    made.slots[0] = use(slot, true);
    made.handler = handler;
    prepared_[operand.name] = slot;
  } else {
    return;
  }
  emit(made, statement);
}

void Builder::statement(const Statement& statement) {
  current_ = &statement;
  prepared_.clear();
  targets_.clear();
  guard_ = Instruction::kAlways;
  guardFlip_ = 0;
  if (!statement.guard.empty()) {
    guard_ = known(statement.guard, Entry::Kind::Predicate).slot;
    guardFlip_ = statement.isGuardNegated ? kAllLanes : 0;
  }
  if (statement.opcode == "call") return call(statement);
  const Family* family = familyOf(statement.opcode);
  if (!family) fail("the emulator does not know `" + statement.text + "`");
  for (const Operand& operand : statement.operands) prepare(operand, statement);
  try {
    Decoder decoder(statement, *this);
    family->decode(decoder);
    decoder.expectNoMore();
    if (!decoder.out.handler) decoder.fail("the emulator has no such form of it");
    emit(decoder.out, statement);
  } catch (const std::invalid_argument& e) {
    fail("`" + statement.text + "`: " + e.what());
  }
}

void Builder::emit(Instruction instruction, const Statement& statement) {
  instruction.guard = guard_;
  instruction.guardFlip = guardFlip_;
  instruction.statement = uint32_t(program_->statements.size());
  program_->statements.push_back(&statement);
  static const std::set<std::string, std::less<>> kEnds = {"exit", "ret", "trap", "brkpt"};
  bool isEnd = kEnds.contains(statement.opcode);
  if (!targets_.empty() || isEnd)
    branches_.push_back({uint32_t(program_->code.size()), targets_,
                         guard_ != Instruction::kAlways || !(isEnd || statement.opcode == "bra")});
  program_->code.push_back(instruction);
}

// call [(result...),] function [, (argument...)]: the function's body comes here, its parameters being the caller's.
void Builder::call(const Statement& statement) {
  std::vector<Operand> operands = statement.operands;
  std::vector<Operand> results, arguments;
  if (!operands.empty() && operands[0].kind == Operand::Kind::List) {
    results = operands[0].parts;
    operands.erase(operands.begin());
  }
  if (operands.empty()) fail("a call of nothing");
  std::string name = operands[0].name;
  if (operands.size() > 1 && operands[1].kind == Operand::Kind::List) arguments = operands[1].parts;
  if (callHost(statement, name, arguments, results)) return;
  auto found = program_->module->functions.find(name);
  if (found == program_->module->functions.end() || !found->second.hasBody || operands.size() > 2)
    fail("the function of `" + statement.text + "` is not in the module");
  const ptx::Function& callee = found->second;
  if (callee.parameters.size() != arguments.size() || callee.results.size() != results.size())
    fail("`" + statement.text + "` has another number of arguments than the function");
  if (calls_.size() > kMaxCalls) fail("`" + name + "` calls itself");
  Scope parameters;
  auto bind = [&](const std::vector<ptx::Variable>& formal, const std::vector<Operand>& actual) {
    for (size_t i = 0; i < formal.size(); ++i)
      parameters.names[formal[i].name] = known(actual[i].name, Entry::Kind::Variable);
  };
  bind(callee.parameters, arguments);
  bind(callee.results, results);
  uint32_t* end = newLabel();
  if (guard_ != Instruction::kAlways) {
    guardFlip_ = ~guardFlip_;
    Instruction around;
    around.handler = branchHandler();
    around.detail = end;
    targets_ = {end};
    emit(around, statement);
    targets_.clear();
  }
  calls_.push_back({&callee, scopes_.size(), end});
  scopes_.push_back(std::move(parameters));
  function(callee);
  scopes_.pop_back();
  calls_.pop_back();
  setLabel(end);
}

bool Builder::callHost(const Statement& statement, const std::string& name, const std::vector<Operand>& arguments,
                       const std::vector<Operand>& results) {
  Instruction made;
  made.handler = hostFunction(name);
  if (!made.handler) return false;
  for (size_t i = 0; i < arguments.size() && i < 5; ++i)
    made.slots[i] = addressOf(known(arguments[i].name, Entry::Kind::Variable));
  if (!results.empty()) made.slots[5] = addressOf(known(results[0].name, Entry::Kind::Variable));
  emit(made, statement);
  return true;
}

std::shared_ptr<const Program> build(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry,
                                     const std::function<uint64_t(const std::string&)>& addressOf) {
  Builder first(module, entry, addressOf, nullptr);
  first.run();
  SlotLives lives = first.takeLives();
  lives.assign();
  return Builder(module, entry, addressOf, &lives).run();
}

}  // namespace tandem::emulator
