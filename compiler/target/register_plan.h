// A register plan says what a kernel's code gives up so that its threads have more registers.
#pragma once
#include "compiler/target/target_info.h"
#include <algorithm>

namespace tandem::target {

// In the order in which they are tried: a plan is taken where the code of the one before spills.
enum class RegisterPlan {
  ManyBlocks,  // as many blocks share a multiprocessor as seems best for what products need of its registers
  FewBlocks,   // at most as many as have all registers that a thread can name
  NoProducer   // so few, and they copy what a producer's warps, which keep registers, would copy
};

// Returns the number of blocks of so many warps whose threads have all registers that instructions can name.
inline int roomyBlocks(const TargetInfo& target, int warps) {
  constexpr int kNameable = 256;
  return std::max(1, target.registersPerMultiprocessor() / (kNameable * warps * target.warpSize()));
}

}  // namespace tandem::target
