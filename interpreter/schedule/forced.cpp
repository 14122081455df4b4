// The choices of a schedule as text: numbers with dots between, one for each step that had a choice.
#include "interpreter/schedule/choice.h"
#include <charconv>
#include <stdexcept>

namespace tandem::interpreter {

ForcedSchedule::ForcedSchedule(const std::string& text) {
  for (const char *at = text.data(), *end = at + text.size();;) {
    size_t choice = 0;
    auto [next, error] = std::from_chars(at, end, choice);
    if (error != std::errc() || (next != end && *next != '.'))
      throw std::runtime_error("`schedule` is `" + text + "`; it is numbers with dots between, as `0.2.1`");
    choices_.push_back(choice);
    if (next == end) return;
    at = next + 1;
  }
}

std::optional<size_t> ForcedSchedule::choose(const std::vector<Transition>& enabled) {
  if (enabled.size() == 1 || used_ == choices_.size()) return 0;
  return choices_[used_++] % enabled.size();
}

}  // namespace tandem::interpreter
