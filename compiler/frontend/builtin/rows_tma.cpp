// Names of `triton_dist.language.tma` and `tma_language`: constants, and refusals that say what to use instead.
#include "compiler/frontend/builtin/rows.h"

namespace tandem::frontend::builtin {

void addTmaRows(Rows& rows) {
  for (const char* name : {"PipelineState",
                           "TmaPipeline",
                           "store_and_wait",
                           "create_tmap_2d",
                           "tmap_update_address",
                           "mbarrier_init",
                           "mbarrier_expect_tx",
                           "mbarrier_expect_transaction",
                           "mbarrier_arrive",
                           "mbarrier_arrive_expect_tx",
                           "mbarrier_try_wait_parity",
                           "mbarrier_wait_parity",
                           "mbarrier_invalidate",
                           "tma_load_2d",
                           "tma_load_2d_pred",
                           "tma_store_2d",
                           "cp_async_bulk_global_to_shared",
                           "cp_async_bulk_shared_to_global",
                           "cp_async_bulk_commit_group",
                           "cp_async_bulk_wait_group",
                           "tensormap_replace_global_address",
                           "tensormap_replace_global_dim",
                           "tensormap_replace_global_stride",
                           "tensormap_replace_rank",
                           "tensormap_replace_box_dim",
                           "tensormap_replace_element_stride",
                           "tensormap_replace_elemtype",
                           "tensormap_replace_interleave_layout",
                           "tensormap_replace_swizzle_mode",
                           "tensormap_replace_fill_mode",
                           "tensormap_cp_fenceproxy",
                           "tensormap_smem_zero_first_warp",
                           "fence_proxy_tensormap_acquire",
                           "fence_async_shared",
                           "fence_proxy_async",
                           "prefetch_tensormap",
                           "prefetch_tensor_2d_l2",
                           "get_dynamic_smem_pointer",
                           "cvta_generic_to_shared",
                           "cvta_global_to_generic_u64"})
    rows.push_back(unsupported(std::string("dl.tma.") + name,
                               "use `tl.make_tensor_descriptor`; the compiler makes the copies and their barriers"));
}

void addTmaConstants(Constants& constants) {
  static const std::pair<const char*, int> values[] = {{"ELEM_BF16", 10},   {"ELEM_F32", 7},        {"SWIZZLE_128B", 3},
                                                       {"SWIZZLE_NONE", 0}, {"INTERLEAVE_NONE", 0}, {"FILL_NONE", 0},
                                                       {"TMAP_RANK_2D", 1}};
  for (const auto& [name, value] : values) constants.emplace_back(std::string("dl.tma.") + name, Int(value));
  constants.emplace_back("dl.SMEM_GENERIC_POINTER_ADDR_SPACE", Int(0));
}

}  // namespace tandem::frontend::builtin
