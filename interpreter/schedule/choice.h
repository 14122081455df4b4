// The schedule of a world can be chosen one step at a time: the chooser sees the transitions that can go on, and which
// synchronising memory each step touched. A step is one synchronising operation and the code behind it, up to the next
// one.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::interpreter {

// The task that goes on. The numbers are the same in every run of one computation.
struct Transition {
  enum class Kind : uint8_t { Program, Stream, Put, Store };  // Store: a program's late store
  Kind kind{};
  int rank = 0;
  uint32_t launch = 0;   // the number of the rank's launch; for a stream: its number
  uint32_t program = 0;  // of the grid
  uint32_t number = 0;   // of the program's put; of a late store: how many steps the program had done before
  auto operator<=>(const Transition&) const = default;
};

// Updates give the same in any order, and nobody sees the value between them.
enum class SyncKind : uint8_t { Read, Write, Update };

struct SyncAccess {
  uint64_t begin = 0, end = 0;  // offsets in the heap, or a meeting's number beyond all of them
  SyncKind kind{};
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  // Returns the index in `enabled` (in order, not empty) of the transition that goes on; nullopt ends the run.
  virtual std::optional<size_t> choose(const std::vector<Transition>& enabled) = 0;
  // The step chosen last did this.
  virtual void did(const SyncAccess& access) = 0;
  // The run is over, and this one still wants to do that.
  virtual void leaves(const Transition& who, const SyncAccess& access) = 0;
};

// Replays the choices that ScheduleSearch::schedule() names; the first of all where it says nothing.
class ForcedSchedule final : public Chooser {
 public:
  // Throws std::runtime_error when the text is not numbers with dots between.
  explicit ForcedSchedule(const std::string& text);
  std::optional<size_t> choose(const std::vector<Transition>& enabled) override;
  void did(const SyncAccess&) override {}
  void leaves(const Transition&, const SyncAccess&) override {}

 private:
  std::vector<size_t> choices_;
  size_t used_ = 0;
};

}  // namespace tandem::interpreter
