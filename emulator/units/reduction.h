// Reductions that copies make in memory: cp.reduce.async.bulk and its form for tensors.
#pragma once
#include "emulator/types.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::emulator {

enum class Reduction : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };

std::optional<Reduction> reductionNamed(std::string_view word);

// to[i] = to[i] op from[i] for all elements of `bytes` bytes. False: there is no such operation on the type.
bool reduceInto(Reduction op, Type type, std::byte* to, const std::byte* from, size_t bytes);

}  // namespace tandem::emulator
