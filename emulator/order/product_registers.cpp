// A data flow over the program: which products may be under way, and which of their registers others have written since
// the last fence.
#include "emulator/order/product_registers.h"
#include "emulator/instructions/host_calls.h"
#include "emulator/program.h"
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace tandem::emulator {
namespace {

bool isWgmma(const Statement& s, const char* kind) {
  return s.opcode == "wgmma" && std::find(s.modifiers.begin(), s.modifiers.end(), kind) != s.modifiers.end();
}

void addNames(const Operand& operand, std::vector<std::string>& names) {
  if (operand.kind == Operand::Kind::Name) names.push_back(operand.name);
  for (const Operand& part : operand.parts) addNames(part, names);
}

// Instructions of these have no result.
bool hasResult(const Statement& s) {
  static const std::set<std::string> kOthers = {"st", "red", "stmatrix", "bra", "bar", "barrier", "cp", "mbarrier"};
  return !kOthers.contains(s.opcode) && !s.operands.empty();
}

class Products {
 public:
  explicit Products(const Program& program) : program_(program) {
    for (const Statement* statement : program.statements)
      if (isWgmma(*statement, "mma_async")) add(*statement);
  }

  void check() {
    if (products_.empty()) return;
    std::set<uint32_t> targets{0};
    for (const Instruction& in : program_.code)
      if (in.handler == branchHandler()) targets.insert(targetOf(in));
    merge(0, State{std::vector<uint8_t>(products_.size(), kDone), std::vector<bool>(numbers_.size())});
    while (!work_.empty()) {
      uint32_t at = *work_.begin();
      work_.erase(work_.begin());
      State state = states_.at(at);
      for (uint32_t i = at; i < program_.code.size(); ++i) {
        if (i != at && targets.contains(i)) {
          merge(i, state);
          break;
        }
        const Instruction& in = program_.code[i];
        const Statement& statement = *program_.statements[in.statement];
        if (in.handler == branchHandler())
          merge(targetOf(in), state);
        else
          pass(statement, state);
        bool mayLeave = in.handler == branchHandler() || statement.opcode == "exit" || statement.opcode == "ret";
        if (mayLeave && in.guard == Instruction::kAlways && !in.guardFlip) break;
      }
    }
  }

 private:
  static constexpr uint8_t kDone = 255, kOldest = 100;

  struct Product {
    const Statement* statement;
    std::vector<uint32_t> sums, left;  // registers, by their numbers
  };
  struct State {
    std::vector<uint8_t> ages;  // of each product: groups that were committed since, its own among them
    std::vector<bool> isDirty;  // of each register: written since the last fence
  };

  static uint32_t targetOf(const Instruction& in) { return *static_cast<const uint32_t*>(in.detail); }

  std::vector<uint32_t> numbersOf(const Operand& operand) {
    std::vector<std::string> names;
    addNames(operand, names);
    std::vector<uint32_t> found;
    for (const std::string& name : names)
      found.push_back(numbers_.try_emplace(name, uint32_t(numbers_.size())).first->second);
    return found;
  }

  void add(const Statement& statement) {
    if (indices_.contains(&statement)) return;
    indices_[&statement] = products_.size();
    bool hasLeft = statement.operands[1].kind == Operand::Kind::Vector;
    products_.push_back({&statement, numbersOf(statement.operands[0]),
                         hasLeft ? numbersOf(statement.operands[1]) : std::vector<uint32_t>()});
  }

  void merge(uint32_t at, const State& state) {
    auto [found, isNew] = states_.try_emplace(at, state);
    bool changed = isNew;
    for (size_t i = 0; i < state.ages.size(); ++i)
      if (state.ages[i] < found->second.ages[i]) found->second.ages[i] = state.ages[i], changed = true;
    for (size_t i = 0; i < state.isDirty.size(); ++i)
      if (state.isDirty[i] && !found->second.isDirty[i]) found->second.isDirty[i] = changed = true;
    if (changed) work_.insert(at);
  }

  [[noreturn]] void report(const std::string& what, const Statement& before, const Statement& now) const {
    throw Fault(Fault::LaunchFailed, "kernel `" + program_.function->name + "`: " + what + ":\n  " +
                                         placeOf(program_, before) + "\n the access:\n  " + placeOf(program_, now));
  }

  static bool overlap(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
    return std::any_of(a.begin(), a.end(), [&](uint32_t r) { return std::find(b.begin(), b.end(), r) != b.end(); });
  }

  void start(const Product& product, State& state) {
    for (size_t i = 0; i < products_.size(); ++i) {
      const Product& before = products_[i];
      if (state.ages[i] == kDone) continue;
      bool isSum = overlap(product.sums, before.sums);
      if (overlap(product.left, before.sums) || overlap(product.sums, before.left) ||
          (isSum && product.sums != before.sums))
        report("no wgmma.wait_group waits for the product whose registers this one uses", *before.statement,
               *product.statement);
    }
    for (const std::vector<uint32_t>* registers : {&product.sums, &product.left})
      for (uint32_t r : *registers)
        if (state.isDirty[r])
          report("no wgmma.fence is between this product and what writes its registers", *writers_.at(r),
                 *product.statement);
    state.ages[indices_.at(product.statement)] = 0;
  }

  void pass(const Statement& statement, State& state) {
    if (auto found = indices_.find(&statement); found != indices_.end()) return start(products_[found->second], state);
    if (isWgmma(statement, "fence")) return state.isDirty.assign(state.isDirty.size(), false);
    if (isWgmma(statement, "commit_group")) {
      for (uint8_t& age : state.ages)
        if (age < kOldest) ++age;
      return;
    }
    if (isWgmma(statement, "wait_group")) {
      for (uint8_t& age : state.ages)
        if (age > statement.operands[0].bits) age = kDone;
      return;
    }
    for (size_t o = 0; o < statement.operands.size(); ++o) {
      std::vector<std::string> names;
      addNames(statement.operands[o], names);
      bool isWrite = o == 0 && hasResult(statement);
      for (const std::string& name : names) {
        auto known = numbers_.find(name);
        if (known == numbers_.end()) continue;
        uint32_t r = known->second;
        for (size_t i = 0; i < products_.size(); ++i) {
          if (state.ages[i] == kDone) continue;
          auto has = [&](const std::vector<uint32_t>& list) {
            return std::find(list.begin(), list.end(), r) != list.end();
          };
          if (has(products_[i].sums) || (isWrite && has(products_[i].left)))
            report("no wgmma.wait_group waits for the product whose register " + name + " this uses",
                   *products_[i].statement, statement);
        }
        if (isWrite) state.isDirty[r] = true, writers_[r] = &statement;
      }
    }
  }

  const Program& program_;
  std::unordered_map<std::string, uint32_t> numbers_;  // of the registers of products
  std::vector<Product> products_;
  std::unordered_map<const Statement*, size_t> indices_;
  std::map<uint32_t, State> states_;  // where branches go
  std::map<uint32_t, const Statement*> writers_;
  std::set<uint32_t> work_;
};

}  // namespace

void checkProductRegisters(const Program& program) { Products(program).check(); }

}  // namespace tandem::emulator
