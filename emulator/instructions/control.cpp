// Branches and the ends of threads.
#include "emulator/instructions/families.h"
#include "emulator/instructions/host_calls.h"
#include "emulator/warp.h"

namespace tandem::emulator {
namespace {

using Places = std::vector<const uint32_t*>;

Outcome branch(Warp& warp, const Instruction& in, Mask active) {
  warp.branch(active, *static_cast<const uint32_t*>(in.detail));
  return Outcome::Jump;
}

// brx.idx: the lanes of one index go together.
Outcome branchByIndex(Warp& warp, const Instruction& in, Mask active) {
  const Places& places = *static_cast<const Places*>(in.detail);
  const uint64_t* indices = warp.lanes(in.slots[0]);
  unsigned first = unsigned(std::countr_zero(active));
  uint32_t index = uint32_t(indices[first]);
  if (index >= places.size())
    throw Fault(Fault::IllegalInstruction, "target " + std::to_string(index) + " of " + std::to_string(places.size()),
                int(first));
  Mask together = 0;
  eachLane(active, [&](unsigned lane) { together |= Mask(uint32_t(indices[lane]) == index) << lane; });
  warp.split(together, *places[index]);
  return Outcome::Jump;
}

Outcome end(Warp& warp, const Instruction&, Mask active) {
  warp.exit(active);
  return Outcome::Jump;
}

Outcome trap(Warp&, const Instruction&, Mask active) {
  throw Fault(Fault::LaunchFailed, "a trap", std::countr_zero(active));
}

void leave(Decoder& d) {
  d.take("uni");
  d.out.detail = d.returnLabel();
  d.out.handler = d.out.detail ? &branch : &end;
}

}  // namespace

Handler branchHandler() { return branch; }

std::span<const Family> controlFamilies() {
  static constexpr Family kFamilies[] = {
      {"bra",
       [](Decoder& d) {
         d.take("uni");
         d.out.detail = d.label(d.operand(0).name);
         d.out.handler = branch;
       }},
      {"brx",
       [](Decoder& d) {
         d.ignore({"idx", "uni"});
         Places places;
         for (const std::string& target : d.targets(d.operand(1).name)) places.push_back(d.label(target));
         d.out.slots[0] = d.read(0, Type::U32);
         d.out.detail = d.keepDetail(std::move(places));
         d.out.handler = branchByIndex;
       }},
      {"ret", leave},
      {"exit", [](Decoder& d) { d.out.handler = end; }},
      {"trap", [](Decoder& d) { d.out.handler = trap; }},
      {"brkpt", [](Decoder& d) { d.out.handler = trap; }},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
