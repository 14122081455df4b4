// Products of small matrices, as tensor cores make them, from the registers and the shared memory of a warp.
#pragma once
#include "emulator/instruction.h"
#include "emulator/types.h"
#include <cstdint>
#include <vector>

namespace tandem::emulator {

// Products of float16 and narrower elements are exact and summed up in float, one by one along K; those of integers wrap
// around unless `saturates`. (A tensor core cuts off bits of its sums; how many is not specified.)
struct Product {
  unsigned m = 0, n = 0, k = 0;
  Type left{}, right{}, sum{};  // F16, BF16, TF32, E4M3, E5M2, S8, U8 or F64; sums F16, F32, S32 or F64
  bool saturates = false;       // integers stop at their limits
  bool negatesLeft = false, negatesRight = false;

  unsigned leftRegisters() const;  // of a lane; 64 bits each for F64, else 32
  unsigned rightRegisters() const;
  unsigned sumRegisters() const;
};

// The registers of an operand: each points to the 32 lanes' bits.
using Fragment = std::vector<uint64_t*>;

// An operand's elements as they were in memory or in registers, row after row: [rows, columns] of the element's bits.
using Elements = std::vector<std::byte>;

Elements leftFromRegisters(const Product& product, const Fragment& registers);   // [m, k]
Elements rightFromRegisters(const Product& product, const Fragment& registers);  // [k, n]

// sums = left * right + sums, or left * right unless `keeps`. `leftTransposed` says that `left` is [k, m],
// `rightTransposed` that `right` is [n, k].
void multiply(const Product& product, const Elements& left, bool leftTransposed, const Elements& right,
              bool rightTransposed, bool keeps, const Fragment& sums, const Fragment& results);

}  // namespace tandem::emulator
