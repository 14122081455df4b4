// The functions of NVIDIA's libdevice as data: Triton's name, parameter names, and one symbol for every operand type.
#pragma once
#include <string>
#include <vector>

namespace tandem::frontend::builtin {

// Operand and result types are letters: f fp32, d fp64, i int32, u uint32, l int64, m uint64; b an int32 that is a
// truth value.
struct LibdeviceSymbol {
  std::string symbol, operands;
  char result;
};
struct LibdeviceFunction {
  std::string name, parameters;
  std::vector<LibdeviceSymbol> symbols;
};

const std::vector<LibdeviceFunction>& libdeviceTable();

}  // namespace tandem::frontend::builtin
