// Each op of arith, math and tile in this table is one Unary, Binary or Convert instruction.
#include "compiler/lower/sim/elementwise_table.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/StringMap.h>

namespace tandem::lower {
using interpreter::BinaryOp;
using interpreter::ConvertOp;
using interpreter::UnaryOp;
namespace {

template <typename Sub>
std::optional<Sub> find(const llvm::StringMap<Sub>& table, mlir::Operation* op) {
  auto it = table.find(op->getName().getStringRef());
  if (it == table.end()) return std::nullopt;
  return it->second;
}

}  // namespace

std::optional<UnaryOp> unaryOpOf(mlir::Operation* op) {
  using enum UnaryOp;
  static const llvm::StringMap<UnaryOp> table = {{"arith.negf", NegF},        {"math.absf", AbsF},
                                                 {"math.absi", AbsI},         {"math.ceil", Ceil},
                                                 {"math.floor", Floor},       {"math.trunc", Trunc},
                                                 {"math.round", Round},       {"math.sqrt", Sqrt},
                                                 {"math.rsqrt", Rsqrt},       {"math.exp", Exp},
                                                 {"math.exp2", Exp2},         {"math.expm1", ExpM1},
                                                 {"math.log", Log},           {"math.log2", Log2},
                                                 {"math.log10", Log10},       {"math.log1p", Log1p},
                                                 {"math.sin", Sin},           {"math.cos", Cos},
                                                 {"math.tan", Tan},           {"math.asin", Asin},
                                                 {"math.acos", Acos},         {"math.atan", Atan},
                                                 {"math.sinh", Sinh},         {"math.cosh", Cosh},
                                                 {"math.tanh", Tanh},         {"math.asinh", Asinh},
                                                 {"math.acosh", Acosh},       {"math.atanh", Atanh},
                                                 {"math.erf", Erf},           {"math.erfc", Erfc},
                                                 {"math.cbrt", Cbrt},         {"math.ctlz", Ctlz},
                                                 {"math.cttz", Cttz},         {"math.ctpop", Ctpop},
                                                 {"math.isnan", IsNan},       {"math.isinf", IsInf},
                                                 {"math.isfinite", IsFinite}, {"math.roundeven", RoundEven}};
  return find(table, op);
}

std::optional<BinaryOp> binaryOpOf(mlir::Operation* op) {
  using enum BinaryOp;
  static const llvm::StringMap<BinaryOp> table = {{"arith.addi", AddI},
                                                  {"arith.subi", SubI},
                                                  {"arith.muli", MulI},
                                                  {"arith.divsi", DivS},
                                                  {"arith.divui", DivU},
                                                  {"arith.remsi", RemS},
                                                  {"arith.remui", RemU},
                                                  {"arith.andi", And},
                                                  {"arith.ori", Or},
                                                  {"arith.xori", Xor},
                                                  {"arith.shli", Shl},
                                                  {"arith.shrsi", ShrS},
                                                  {"arith.shrui", ShrU},
                                                  {"arith.minsi", MinS},
                                                  {"arith.minui", MinU},
                                                  {"arith.maxsi", MaxS},
                                                  {"arith.maxui", MaxU},
                                                  {tile::MulHiUIOp::getOperationName(), MulHiU},
                                                  {"arith.addf", AddF},
                                                  {"arith.subf", SubF},
                                                  {"arith.mulf", MulF},
                                                  {"arith.divf", DivF},
                                                  {"arith.remf", RemF},
                                                  {"arith.minnumf", MinNumF},
                                                  {"arith.maxnumf", MaxNumF},
                                                  {"arith.minimumf", MinimumF},
                                                  {"arith.maximumf", MaximumF},
                                                  {"math.powf", PowF},
                                                  {"math.atan2", Atan2},
                                                  {"math.copysign", CopySign},
                                                  {"arith.floordivsi", FloorDivS},
                                                  {"arith.ceildivsi", CeilDivS},
                                                  {"arith.ceildivui", CeilDivU}};
  return find(table, op);
}

std::optional<ConvertOp> convertOpOf(mlir::Operation* op) {
  using enum ConvertOp;
  static const llvm::StringMap<ConvertOp> table = {
      {"arith.trunci", TruncI}, {"arith.extsi", ExtS},  {"arith.extui", ExtU},
      {"arith.sitofp", SToF},   {"arith.uitofp", UToF}, {"arith.fptosi", FToS},
      {"arith.fptoui", FToU},   {"arith.extf", FToF},   {"arith.bitcast", Bitcast}};
  return find(table, op);
}

}  // namespace tandem::lower
