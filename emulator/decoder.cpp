#include "emulator/decoder.h"
#include <algorithm>
#include <stdexcept>

namespace tandem::emulator {

Decoder::Decoder(const Statement& statement, Operands& operands)
    : statement(statement), operands_(operands), taken_(statement.modifiers.size()) {}

bool Decoder::has(std::string_view modifier) const {
  return std::find(statement.modifiers.begin(), statement.modifiers.end(), modifier) != statement.modifiers.end();
}

bool Decoder::take(std::string_view modifier) {
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i] && statement.modifiers[i] == modifier) return taken_[i] = true;
  return false;
}

void Decoder::ignore(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : modifiers) take(modifier);
}

std::string Decoder::takeAfter(std::string_view prefix) {
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i] && statement.modifiers[i].starts_with(prefix)) {
      taken_[i] = true;
      return statement.modifiers[i].substr(prefix.size());
    }
  return "";
}

std::optional<Type> Decoder::takeTypeIfAny() {
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i])
      if (std::optional<Type> type = typeNamed(statement.modifiers[i])) return taken_[i] = true, type;
  return std::nullopt;
}

Type Decoder::takeType() {
  std::optional<Type> type = takeTypeIfAny();
  if (!type) fail("it names no type");
  return *type;
}

Space Decoder::takeSpace() {
  if (take("global")) return Space::Global;
  if (take("shared") || take("shared::cta")) return Space::Shared;
  if (take("shared::cluster")) return Space::SharedCluster;
  if (take("local")) return Space::Local;
  if (take("param") || take("param::entry") || take("param::func")) return Space::Param;
  return take("const") ? Space::Const : Space::Generic;
}

void Decoder::expectNoMore() const {
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i]) fail("the emulator does not know its `." + statement.modifiers[i] + "`");
}

const Operand& Decoder::operand(size_t index) const {
  if (index >= count()) fail("it has too few operands");
  return statement.operands[index];
}

void Decoder::fail(const std::string& why) const { throw std::invalid_argument(why); }

}  // namespace tandem::emulator
