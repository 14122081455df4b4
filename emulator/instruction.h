// One decoded PTX instruction: a function that carries it out for the lanes of a warp, and the slots of its operands.
#pragma once
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tandem::emulator {

class Warp;
struct Instruction;

constexpr unsigned kLanes = 32;
using Mask = uint32_t;  // a bit for each lane
constexpr Mask kAllLanes = ~Mask(0);

// The index of a register of 32 lanes in a warp's frame, or of a predicate among its masks. Constants and special
// registers have slots as well, so a handler need not know what kind of operand it reads.
using Slot = uint32_t;

enum class Outcome : uint8_t {
  Next,  // done: the warp goes on behind it
  Jump,  // done: the handler has set where the warp goes on
  Wait,  // not possible yet, and nothing has changed: the warp asks again later
  Begun  // not done yet, but something has changed that others may wait for: the warp asks again later
};

// Carries the instruction out for the lanes of `active`, of which there is at least one. Throws Fault.
using Handler = Outcome (*)(Warp&, const Instruction&, Mask active);

struct Instruction {
  static constexpr Slot kAlways = 0;  // a predicate that is true in all lanes

  Handler handler = nullptr;
  Slot guard = kAlways;
  Mask guardFlip = 0;            // all lanes: the guard is negated
  uint8_t count = 0;             // a family's own number: parts of a vector, steps
  uint16_t form = 0;             // a family's own choice among its forms
  Slot slots[6] = {};            // operands, in the order that the family's decoder gave them
  int64_t immediate = 0;         // an address's offset, a branch's target, a constant of the family
  const Slot* list = nullptr;    // of vector operands; lives as long as the program
  const void* detail = nullptr;  // what the family keeps beside; lives as long as the program
  uint32_t statement = 0;        // its index among the program's statements, for reports
};

// What ends a launch. `code` is the result that CUDA's driver gives at the next synchronisation.
class Fault : public std::runtime_error {
 public:
  enum Code : int {
    IllegalAddress = 700,
    LaunchTimeout = 702,
    Assert = 710,
    HardwareStackError = 714,
    IllegalInstruction = 715,
    MisalignedAddress = 716,
    InvalidAddressSpace = 717,
    LaunchFailed = 719
  };
  Fault(Code code, const std::string& text, int lane = -1) : std::runtime_error(text), code(code), lane(lane) {}
  Code code;
  int lane;  // -1: of the whole warp
};

// Calls f(lane) for each lane of the mask.
template <class F>
inline void eachLane(Mask mask, F&& f) {
  if (mask == kAllLanes)
    for (unsigned lane = 0; lane < kLanes; ++lane) f(lane);
  else
    for (; mask; mask &= mask - 1) f(unsigned(std::countr_zero(mask)));
}

}  // namespace tandem::emulator
