// The tests of the axis analysis share these: a function around a few lines, and the result as text.
#pragma once
#include "compiler/analysis/axis_info.h"
#include "compiler/analysis/test/kernel.h"
#include <sstream>

namespace tandem::analysis::test {

// Returns the facts as text: "c16 d64 k1; c1 d1 k128", then the constant and bounds if they are known.
inline std::string text(const AxisInfo& info) {
  std::ostringstream out;
  const char* between = "";
  for (const DimInfo& dim : info.dims) {
    out << between << "c" << dim.contiguity << " d"
        << (dim.divisibility > (1 << 30) ? "*" : std::to_string(dim.divisibility)) << " k" << dim.constancy;
    between = "; ";
  }
  if (info.constant) out << " = " << *info.constant;
  return out.str();
}

inline std::string wrapped(const std::string& lines) {
  return R"(func.func @k(%x: i32, %m: i32 {tile.multiple_of = 16 : i32}, %p: !tile.ptr<f16> {tile.multiple_of = 16 : i32},
                         %raw: !tile.ptr<f16>, %flag: i1, %wide: i64) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %pid = tile.program_id 0
      %c128 = arith.constant 128 : i32
      %start = arith.muli %pid, %c128 : i32
      %range = tile.make_range 0 to 128 : tensor<128xi32>
      %starts = tile.splat %start : i32 -> tensor<128xi32>
      %offs = arith.addi %starts, %range : tensor<128xi32>
      %xs = tile.splat %x : i32 -> tensor<128xi32>
      %ms = tile.splat %m : i32 -> tensor<128xi32>
      %c16s = arith.constant dense<16> : tensor<128xi32>
  )" + lines +
         "\nreturn\n}";
}

// Returns the facts of the value whose op is named "r".
inline AxisInfo infoOf(const std::string& lines) {
  Kernel kernel(wrapped(lines));
  return AxisInfoAnalysis(kernel.function()).of(kernel.value("r"));
}
inline std::string known(const std::string& lines) { return text(infoOf(lines)); }

}  // namespace tandem::analysis::test
