// The ways of a call that operators which multiply have in common.
#include "tandem/gemm_operator.h"
#include "ops/gemm_ar/few_rows.h"
#include "ops/gemm_ar/model.h"
#include "ops/gemm_chooser.h"
#include "ops/gemm_options.h"
#include "ops/product/library_way.h"

namespace tandem::ops {

GemmOperator::GemmOperator(const Table& table, const GemmModel& model, GemmKind kind, Team& team, int64_t maxM,
                           int64_t n, int64_t k, DType dtype, const GemmConfig& config)
    : Operator(table, team, {maxM, n, k}, dtype, &config), n_(n), k_(k), config_(config),
      chooser_(std::make_unique<GemmChooser>(team, table, model, n, k, dtype, config)), kind_(kind) {
  if (int64_t few = kind == GemmKind::Reduce ? maxM : mostFewRows(config, maxM))
    few_ = std::make_unique<FewRows>(team, memory_, kind, *chooser_, few, n, k, dtype, config);
  GemmSizes most{maxM, n, k, team.size(), dtype};
  LibraryWay::Rows those = LibraryWay::rowsFor(config, kind, most, chooser_->hasProducts());
  if (those.most || those.mostWhole)
    library_ = std::make_unique<LibraryWay>(team, memory_, kind, those, most, config.bTransposed);
}

GemmOperator::~GemmOperator() = default;

std::vector<Operator*> GemmOperator::parts() const {
  return library_ && library_->part() ? std::vector{library_->part()} : std::vector<Operator*>();
}

void GemmOperator::queue(const Call& call) {
  const Tensor &a = call.tensors[0], &b = call.tensors[1], &out = call.tensors[2];
  int64_t m = call.numbers[0];
  // By facts that all ranks share: the addresses of a rank's own tensors decide only how it reads them.
  bool fits = copiesBlocks({anywhere(a), anywhere(b)}, dtype_, config_.bTransposed, team_.target());
  const GemmChoice& choice = chooser_->choose(m, fits, out.dtype);
  if (choice.config.library > 0) return library_->run(a, b, out, m, choice.config.chunks, call.stream);
  if (kind_ != GemmKind::Reduce && choice.config.fewRows) return few_->run(a, b, out, m, choice.config, call.stream);
  multiply(a, b, out, m, choice, call.stream);
}

TunedGemm GemmOperator::tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream) {
  return chooser_->tune(m, stream, [&] { run(a, b, out, m, stream); });
}

std::string GemmOperator::tune(const Call& call) {
  return textOf(table_, tune(call.tensors[0], call.tensors[1], call.tensors[2], call.numbers[0], call.stream));
}

}  // namespace tandem::ops
