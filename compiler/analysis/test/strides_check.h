// The tests of strides share these: names for scalars, and an access as text.
#pragma once
#include "compiler/dialect/tile/attributes.h"
#include "compiler/analysis/strides.h"
#include "compiler/analysis/test/kernel.h"
#include <algorithm>
#include <fstream>
#include <sstream>

namespace tandem::analysis::test {

inline std::string nameOf(mlir::Value value) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
    auto function = mlir::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    if (!function) return "iv";
    auto name = tile::nameOf(argument);
    return name ? name.str() : "arg" + std::to_string(argument.getArgNumber());
  }
  mlir::Operation* op = value.getDefiningOp();
  if (auto name = op->getAttrOfType<mlir::StringAttr>("name")) return name.str();
  return op->getName().getStringRef().str();
}

// "64*iv*stride + K": terms and symbols in alphabetical order.
inline std::string text(const ScalarExpr& e) {
  std::vector<std::string> terms;
  for (const ScalarExpr::Term& t : e.terms()) {
    std::vector<std::string> factors;
    for (mlir::Value v : t.symbols) factors.push_back(nameOf(v));
    std::sort(factors.begin(), factors.end());
    if (t.factor != 1 || factors.empty()) factors.insert(factors.begin(), std::to_string(t.factor));
    std::string term;
    for (const std::string& f : factors) term += (term.empty() ? "" : "*") + f;
    terms.push_back(term);
  }
  std::sort(terms.begin(), terms.end());
  std::string all;
  for (const std::string& t : terms) all += (all.empty() ? "" : " + ") + t;
  return all.empty() ? "0" : all;
}

// "base + off; [128: (at) % wrap * stride, < bound]..."
inline std::string text(const std::optional<StridedAccess>& access) {
  if (!access) return "none";
  std::string all = nameOf(access->base);
  if (!access->baseOffset.isZero()) all += " + " + text(access->baseOffset);
  for (const DimAccess& d : access->dims) {
    all += "; " + std::to_string(d.size) + " from " + text(d.offset);
    if (d.wrap) all += (d.clamps ? " below " : " mod ") + text(*d.wrap);
    all += " by " + text(d.stride);
    if (d.lowerBound) all += " >= " + text(*d.lowerBound);
    if (d.bound) all += " < " + text(*d.bound);
    for (const ScalarExpr& bound : d.alsoBelow) all += " < " + text(bound);
  }
  for (mlir::Value guard : access->guards) all += "; if " + nameOf(guard);
  return all;
}

inline std::string input(const std::string& name) {
  std::ifstream file(std::string(TANDEM_SOURCE_DIR) + "/compiler/analysis/test/inputs/" + name);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

}  // namespace tandem::analysis::test
