// Masks as bounds.
#include "compiler/analysis/mask_bounds.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::analysis {
using namespace mlir;
using arith::CmpIPredicate;

namespace {

class MaskReader {
 public:
  MaskReader(AffineReader& reader, const AxisInfoAnalysis& axes) : reader_(reader), axes_(axes) {}

  std::optional<MaskReading> read(Value mask, unsigned depth = 0) {
    Operation* op = mask.getDefiningOp();
    if (!op || depth > kDeepest) return std::nullopt;
    auto inner = [&](Value source) { return read(source, depth + 1); };
    return llvm::TypeSwitch<Operation*, std::optional<MaskReading>>(op)
        .Case<arith::AndIOp>([&](auto o) { return both(inner(o.getLhs()), inner(o.getRhs())); })
        .Case<arith::CmpIOp>([&](auto o) { return comparison(o); })
        .Case<arith::ConstantOp>([&](auto o) { return always(o); })
        .Case<tile::SplatOp>([&](auto o) { return MaskReading{{}, {o.getSource()}}; })
        .Case<tile::BroadcastOp, tgpu::ConvertLayoutOp>([&](auto o) { return inner(o.getSource()); })
        .Case<tile::ExpandDimsOp>([&](auto o) { return expanded(inner(o.getSource()), o.getAxis()); })
        .Case<tile::PermuteOp>([&](auto o) { return permuted(inner(o.getSource()), o); })
        .Default([](Operation*) { return std::nullopt; });
  }

 private:
  using Reading = std::optional<MaskReading>;
  static constexpr unsigned kDeepest = 100;

  static Reading both(Reading l, const Reading& r) {
    if (!l || !r) return std::nullopt;
    l->bounds.append(r->bounds.begin(), r->bounds.end());
    l->guards.append(r->guards.begin(), r->guards.end());
    return l;
  }

  static Reading always(arith::ConstantOp op) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    bool isTrue = elements && elements.isSplat() && elements.getSplatValue<APInt>().isAllOnes();
    return isTrue ? Reading(MaskReading{}) : std::nullopt;
  }

  static Reading expanded(Reading source, unsigned axis) {
    if (source)
      for (MaskBound& bound : source->bounds) bound.dim += bound.dim >= axis;
    return source;
  }

  static Reading permuted(Reading source, tile::PermuteOp op) {
    if (source)
      for (MaskBound& bound : source->bounds)
        bound.dim = llvm::find(op.getOrder(), int32_t(bound.dim)) - op.getOrder().begin();
    return source;
  }

  Reading comparison(arith::CmpIOp op) {
    std::optional<AffineTile> l = reader_.read(op.getLhs()), r = reader_.read(op.getRhs());
    if (!l || !r || l->base || r->base) return std::nullopt;
    if (r->isUniform()) return bounded(op.getPredicate(), *l, r->rest, isKnownNonNegative(op.getRhs()));
    if (l->isUniform()) return bounded(mirrored(op.getPredicate()), *r, l->rest, isKnownNonNegative(op.getLhs()));
    return std::nullopt;
  }

  bool isKnownNonNegative(Value value) const { return axes_.of(value).nonNegative; }

  // The predicate that says the same with its operands exchanged.
  static CmpIPredicate mirrored(CmpIPredicate predicate) {
    switch (predicate) {
      case CmpIPredicate::slt: return CmpIPredicate::sgt;
      case CmpIPredicate::sle: return CmpIPredicate::sge;
      case CmpIPredicate::sgt: return CmpIPredicate::slt;
      case CmpIPredicate::sge: return CmpIPredicate::sle;
      case CmpIPredicate::ult: return CmpIPredicate::ugt;
      case CmpIPredicate::ule: return CmpIPredicate::uge;
      case CmpIPredicate::ugt: return CmpIPredicate::ult;
      case CmpIPredicate::uge: return CmpIPredicate::ule;
      default: return predicate;
    }
  }

  static Reading bounded(CmpIPredicate predicate, const AffineTile& place, const ScalarExpr& limit,
                         bool limitIsNonNegative) {
    std::optional<unsigned> dim = place.onlyDim();
    if (!dim) return std::nullopt;
    const AffineDim& index = *place.dims[*dim];
    if (index.wrap || index.stride.constant() != 1 || !place.rest.isZero()) return std::nullopt;
    MaskBound below{*dim, index.offset, limit, false}, notBelow{*dim, index.offset, limit, true},
        notNegative{*dim, index.offset, 0, true};
    MaskBound upTo{*dim, index.offset, limit + 1, false}, above{*dim, index.offset, limit + 1, true};
    switch (predicate) {
      case CmpIPredicate::slt: return MaskReading{{below}, {}};
      case CmpIPredicate::sle: return MaskReading{{upTo}, {}};
      case CmpIPredicate::sgt: return MaskReading{{above}, {}};
      case CmpIPredicate::sge: return MaskReading{{notBelow}, {}};
      case CmpIPredicate::ult:
        return limitIsNonNegative ? Reading(MaskReading{{below, notNegative}, {}}) : std::nullopt;
      case CmpIPredicate::ule: return limitIsNonNegative ? Reading(MaskReading{{upTo, notNegative}, {}}) : std::nullopt;
      default: return std::nullopt;
    }
  }

  AffineReader& reader_;
  const AxisInfoAnalysis& axes_;
};

}  // namespace

// If the limit is a term and the result of an `Op`, otherwise any: the sum with either operand instead.
template <typename Op>
static std::optional<std::pair<ScalarExpr, ScalarExpr>> choiceIn(const ScalarExpr& limit, AffineReader& reader) {
  for (const ScalarExpr::Term& term : limit.terms()) {
    auto choice = term.factor == 1 && term.symbols.size() == 1 ? term.symbols[0].getDefiningOp<Op>() : Op();
    if (!choice) continue;
    ScalarExpr rest = limit - ScalarExpr::symbol(choice);
    return std::pair(rest + reader.scalar(choice.getLhs()), rest + reader.scalar(choice.getRhs()));
  }
  return std::nullopt;
}

SmallVector<MaskBound, 4> takenApart(ArrayRef<MaskBound> bounds, AffineReader& reader, const AxisInfoAnalysis& axes) {
  SmallVector<MaskBound, 4> left(bounds), apart;
  while (!left.empty()) {
    MaskBound bound = left.pop_back_val();
    auto both =
        bound.isLower ? choiceIn<arith::MaxSIOp>(bound.limit, reader) : choiceIn<arith::MinSIOp>(bound.limit, reader);
    if (both) {
      for (ScalarExpr limit : {both->first, both->second})
        left.push_back({bound.dim, bound.offset, limit, bound.isLower});
      continue;
    }
    // No place that is 0 or more is below max(a, 0) without being below a.
    auto larger = bound.isLower || !bound.offset.isNonNegative(axes) ? std::nullopt
                                                                     : choiceIn<arith::MaxSIOp>(bound.limit, reader);
    if (larger && larger->second.constant().value_or(1) <= 0)
      left.push_back({bound.dim, bound.offset, larger->first, false});
    else if (larger && larger->first.constant().value_or(1) <= 0)
      left.push_back({bound.dim, bound.offset, larger->second, false});
    else
      apart.push_back(bound);
  }
  return apart;
}

std::optional<MaskReading> readMask(Value mask, AffineReader& reader, const AxisInfoAnalysis& axes) {
  return MaskReader(reader, axes).read(mask);
}

}  // namespace tandem::analysis
