// Sums of products. Factors wrap around like the addresses they make, so nothing here can overflow.
#include "compiler/analysis/scalar_expr.h"
#include "compiler/analysis/affine_reader.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::analysis {
using namespace mlir;

static int64_t wrappingAdd(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
static int64_t wrappingMul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

static bool sameSymbols(ArrayRef<Value> a, ArrayRef<Value> b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

ScalarExpr::ScalarExpr(int64_t constant) { add({{}, constant}); }

ScalarExpr ScalarExpr::symbol(Value value) {
  ScalarExpr result;
  result.add({{value}, 1});
  return result;
}

ScalarExpr ScalarExpr::of(Value value) { return AffineReader().scalar(value); }

void ScalarExpr::add(const Term& term) {
  auto like = llvm::find_if(terms_, [&](const Term& t) { return sameSymbols(t.symbols, term.symbols); });
  if (like == terms_.end()) {
    if (term.factor != 0) terms_.push_back(term);
    return;
  }
  like->factor = wrappingAdd(like->factor, term.factor);
  if (like->factor == 0) terms_.erase(like);
}

ScalarExpr operator+(const ScalarExpr& a, const ScalarExpr& b) {
  ScalarExpr result = a;
  for (const ScalarExpr::Term& term : b.terms_) result.add(term);
  return result;
}

ScalarExpr operator-(const ScalarExpr& a, const ScalarExpr& b) { return a + ScalarExpr(-1) * b; }

ScalarExpr operator*(const ScalarExpr& a, const ScalarExpr& b) {
  ScalarExpr result;
  for (const ScalarExpr::Term& x : a.terms_)
    for (const ScalarExpr::Term& y : b.terms_) {
      ScalarExpr::Term product{x.symbols, wrappingMul(x.factor, y.factor)};
      product.symbols.append(y.symbols.begin(), y.symbols.end());
      result.add(product);
    }
  return result;
}

std::optional<int64_t> ScalarExpr::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].symbols.empty()) return terms_[0].factor;
  return std::nullopt;
}

bool ScalarExpr::isOfArguments() const {
  auto isArgument = [](Value v) {
    return isa<BlockArgument>(v) && isa<func::FuncOp>(v.getParentRegion()->getParentOp());
  };
  return llvm::all_of(terms_, [&](const Term& t) { return llvm::all_of(t.symbols, isArgument); });
}

bool ScalarExpr::isInvariant(Operation* loop) const {
  auto outside = [&](Value v) { return !loop->isAncestor(v.getParentRegion()->getParentOp()); };
  return llvm::all_of(terms_, [&](const Term& t) { return llvm::all_of(t.symbols, outside); });
}

// If the term is -c * (x / c) with the constant c > 0: x, which the term makes a remainder of.
static std::optional<ScalarExpr> dividendOf(const ScalarExpr::Term& term) {
  auto quotient = term.symbols.size() == 1 ? term.symbols[0].getDefiningOp<arith::DivSIOp>() : arith::DivSIOp();
  if (!quotient || term.factor >= 0) return std::nullopt;
  if (ScalarExpr::of(quotient.getRhs()).constant() != -term.factor) return std::nullopt;
  return ScalarExpr::of(quotient.getLhs());
}

bool ScalarExpr::isNonNegative(const AxisInfoAnalysis& axes) const {
  for (const Term& t : terms_)
    if (std::optional<ScalarExpr> x = dividendOf(t); x && x->isNonNegative(axes)) {
      ScalarExpr rest = *this - *x;
      rest.add({t.symbols, wrappingMul(t.factor, -1)});
      return rest.isNonNegative(axes);
    }
  return llvm::all_of(terms_, [&](const Term& t) {
    return t.factor >= 0 && llvm::all_of(t.symbols, [&](Value v) { return axes.of(v).nonNegative; });
  });
}

// Removes each of `symbols` once.
static bool removeSymbols(llvm::SmallVector<Value, 2>& from, ArrayRef<Value> symbols) {
  for (Value symbol : symbols) {
    auto at = llvm::find(from, symbol);
    if (at == from.end()) return false;
    from.erase(at);
  }
  return true;
}

std::optional<ScalarExpr> ScalarExpr::dividedBy(const ScalarExpr& divisor) const {
  if (divisor.terms_.size() != 1) return std::nullopt;
  const Term& by = divisor.terms_[0];
  ScalarExpr result;
  for (Term term : terms_) {
    bool fits = by.factor == -1 || term.factor % by.factor == 0;
    if (!fits || !removeSymbols(term.symbols, by.symbols)) return std::nullopt;
    term.factor = by.factor == -1 ? wrappingMul(term.factor, -1) : term.factor / by.factor;
    result.add(term);
  }
  return result;
}

static Value asType(OpBuilder& builder, Location where, Value value, Type type) {
  Type from = value.getType();
  if (from == type) return value;
  if (isa<IndexType>(from) || isa<IndexType>(type)) return arith::IndexCastOp::create(builder, where, type, value);
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(builder, where, type, value);
  return arith::TruncIOp::create(builder, where, type, value);
}

static Value number(OpBuilder& builder, Location where, int64_t value, Type type) {
  return arith::ConstantOp::create(builder, where, builder.getIntegerAttr(type, value));
}

static Value product(OpBuilder& builder, Location where, const ScalarExpr::Term& term, Type type) {
  Value result;
  for (Value symbol : term.symbols) {
    Value factor = asType(builder, where, symbol, type);
    result = result ? arith::MulIOp::create(builder, where, result, factor).getResult() : factor;
  }
  if (!result) return number(builder, where, term.factor, type);
  if (term.factor == 1) return result;
  return arith::MulIOp::create(builder, where, result, number(builder, where, term.factor, type));
}

Value ScalarExpr::build(OpBuilder& builder, Location where, Type type) const {
  Value sum;
  for (const Term& term : terms_) {
    Value next = product(builder, where, term, type);
    sum = sum ? arith::AddIOp::create(builder, where, sum, next).getResult() : next;
  }
  return sum ? sum : number(builder, where, 0, type);
}

}  // namespace tandem::analysis
