// The product, and the sums over slots behind it.
#include "ops/moe_ar/slot_sums.h"
#include "ops/cdiv.h"
#include "ops/gemm_choice.h"
#include "ops/kernel_text.h"
#include <algorithm>

namespace tandem::ops {

SlotSums::SlotSums(const Table& table, Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k, int64_t experts,
                   int64_t topK, DType dtype, const GroupedConfig& config, const Tensor& findings)
    : team_(team), n_(n), experts_(experts), topK_(topK), findings_(findings),
      product_(table, team, &memory, maxM, n, k, experts, topK, dtype, config, GroupedWay{.packed = true}, findings) {
  memory.share(config.shared);
  rows_ = memory.localScratch({maxM * topK, GroupedProduct::resultColumns(n)}, partType(dtype), "rows");
}

void SlotSums::launch(const Tensor& h, const Tensor& w, const Tensor& route, const Tensor& sums, int64_t m, int stream,
                      const GroupedProduct::More& more) const {
  bool simulated = team_.target() == "sim";
  int64_t rows = simulated ? 16 : 8, columns = simulated ? 32 : 256;
  int programs =
      int(std::min<int64_t>(cdiv(m, rows) * cdiv(n_, columns), simulated ? 4 : 2 * team_.residentPrograms()));
  product_.launch(h, w, rows_, route, m, stream, more);
  team_.launch(kernelOf("ops/moe_ar/moe_ar.py", "sum_slots"),
               {.grid = {programs, 1, 1}, .numWarps = simulated ? 2 : 4, .stream = stream},
               {rows_, route, sums, findings_, m, n_},
               {{"PROGRAMS", int64_t(programs)},
                {"E", experts_},
                {"TOP_K", topK_},
                {"ROWS", rows},
                {"COLUMNS", columns},
                {"TILE_M", product_.tileRows(m)},
                {"TILE_N", product_.tileColumns(m)}});
}

}  // namespace tandem::ops
