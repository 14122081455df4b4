// A register plan says what a kernel's code gives up so that its threads have more registers.
#pragma once
#include "compiler/target/nvidia_units.h"
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

constexpr int kFewestRegisters = 24;  // that a producer's thread can have

// A block of products whose tiles a producer brings needs these: columns of the widest instruction, registers of a consumer's thread,
// bytes of shared memory.
struct ProductNeeds {
  int warps;
  int64_t columns, registers, bytes;
};

// Returns how many such blocks share a multiprocessor, where what they need decides alone.
inline int blocksBesideProducers(const TargetInfo& target, const ProductNeeds& block) {
  constexpr int kMost = 4, kBesideInstruction = 32;
  int consumers = block.warps * target.warpSize(), threads = consumers + kProducerWarps * target.warpSize();
  auto fits = [&](int blocks) {
    int each = target.registersPerMultiprocessor() / blocks / threads / 8 * 8;
    return each >= block.columns / 2 + kBesideInstruction &&
           consumerRegisters(each, consumers, kFewestRegisters) >= block.registers &&
           block.bytes <= target.maxSharedBytes() / blocks;
  };
  int blocks = 1;
  while (blocks < kMost && fits(blocks + 1)) ++blocks;
  return blocks;
}

}  // namespace tandem::target
