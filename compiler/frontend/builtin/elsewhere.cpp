// The names of other libraries as lists, by module.
#include "compiler/frontend/builtin/elsewhere.h"
#include <span>
#include <sstream>
#include <unordered_map>

namespace tandem::frontend {
namespace {

// The `names` of a module are called `pattern` there, a star standing for the name. Names "*" are all others of the module.
struct Group {
  const char *module, *pattern, *names;
};

constexpr Group kTriton[] = {
    {"tl", "triton.language.*",
     "abs add advance arange argmax argmin associative_scan assume atomic_add atomic_and atomic_cas atomic_max "
     "atomic_min atomic_or atomic_xchg atomic_xor bitonic_merge broadcast broadcast_to cast cat cdiv ceil "
     "clamp condition constexpr cos cumprod cumsum debug_barrier device_assert device_print div_rn dot "
     "dot_scaled dtype erf exp exp2 expand_dims fdiv flip floor fma full gather histogram "
     "inline_asm_elementwise interleave join load load_tensor_descriptor log log2 make_block_ptr "
     "make_tensor_descriptor map_elementwise max max_constancy max_contiguous maximum min minimum mul "
     "multiple_of num_programs pair_uniform_to_normal permute philox philox_impl pointer_type program_id rand "
     "rand4x randint randint4x randn randn4x range ravel reduce reduce_or reshape rsqrt sigmoid sin slice "
     "softmax sort split sqrt sqrt_rn static_assert static_print static_range store store_tensor_descriptor "
     "str_to_ty sub sum swizzle2d topk trans tuple uint_to_uniform_float umulhi view where xor_sum zeros "
     "zeros_like"},
    {"tl", "triton.*", "constexpr_function jit next_power_of_2"},
    {"tl", "triton.language.core.*", "builtin extern extern_elementwise get_int_dtype item must_use_result to_tensor"},
    {"tl", "triton.language.standard.*", "sort_impl"},
    {"tl.extra.libdevice", "triton.language.extra.libdevice.*", "*"},
    {"tl.math", "triton.language.math.*", "*"},
    {"triton", "triton.*", "*"},
    {"tl.extra.cuda", "triton.language.extra.cuda.*", "*"},
    {"tl.target_info", "triton.language.target_info.*", "*"},
};

constexpr Group kTritonDistributed[] = {
    {"dl", "triton_dist.language.*",
     "allocate_smem consume_token extern_call get_smem_shared_address_u32 ld_vector make_vector notify "
     "num_ranks rank simt_exec_region smem_dealloc smem_get_ptr smem_index smem_load smem_store st_vector "
     "symm_at wait zeros_vector"},
    {"triton_dist", "triton_dist.*", "*"},
    {"dl", "triton_dist.language.core.*", "extern_elementwise"},
    {"dl", "triton_dist.language.simt_ops.*", "fill_vector vector_add vector_binOp vector_mul vector_sub"},
    {"shmem", "triton_dist.language.extra.hip.libmori_shmem_device.*",
     "atomic_add_int64 atomic_add_uint64 atomic_fetch_add_int64 atomic_fetch_add_uint64 atomic_int64_fetch "
     "atomic_int64_nonfetch atomic_uint64_fetch atomic_uint64_nonfetch char_p double_p fence_pe fence_pe_qp "
     "float_p int32_p int32_wait_until_equals int32_wait_until_greater_than int64_p int64_wait_until_equals "
     "int64_wait_until_greater_than long_p longlong_p put_double_nbi put_float_nbi put_uint32_nbi "
     "put_uint64_nbi putmem_nbi_signal quiet_pe_qp short_p uchar_p uint32_p uint32_wait_until_equals "
     "uint32_wait_until_greater_than uint64_p uint64_wait_until_greater_than uint_p ulong_p ulonglong_p "
     "ushort_p"},
    {"shmem", "triton_dist.language.extra.libshmem_device.*",
     "barrier barrier_all barrier_all_block barrier_all_vec barrier_all_warp barrier_all_wave barrier_all_wg "
     "barrier_block barrier_warp broadcast broadcast_block broadcast_warp broadcastmem broadcastmem_block "
     "broadcastmem_warp fcollect fcollect_block fcollect_warp fcollectmem fcollectmem_block fcollectmem_warp "
     "fence getmem getmem_block getmem_nbi getmem_nbi_block getmem_nbi_warp getmem_nbi_wave getmem_nbi_wg "
     "getmem_warp getmem_wave getmem_wg int_p my_pe n_pes putmem putmem_block putmem_nbi putmem_nbi_block "
     "putmem_nbi_warp putmem_nbi_wave putmem_nbi_wg putmem_rma putmem_rma_block putmem_rma_nbi "
     "putmem_rma_nbi_block putmem_rma_nbi_warp putmem_rma_warp putmem_signal putmem_signal_block "
     "putmem_signal_nbi putmem_signal_nbi_block putmem_signal_nbi_warp putmem_signal_nbi_wave "
     "putmem_signal_nbi_wg putmem_signal_rma putmem_signal_rma_block putmem_signal_rma_nbi "
     "putmem_signal_rma_nbi_block putmem_signal_rma_nbi_warp putmem_signal_rma_warp putmem_signal_warp "
     "putmem_signal_wave putmem_signal_wg putmem_warp putmem_wave putmem_wg quiet quiet_pe remote_mc_ptr "
     "remote_ptr set_rocshmem_ctx signal_op signal_wait_until sync_all sync_all_block sync_all_warp team_my_pe "
     "team_n_pes team_sync_block team_sync_warp team_translate_pe uint64_wait_until_equals ulong_put_signal"},
    {"shmem", "triton_dist.language.extra.cuda.libnvshmem_device.*", "sync"},
    {"extra", "triton_dist.language.extra.cuda.language_extra.*",
     "__ballot_sync __fence __shfl_down_sync_i32 __shfl_sync_i32 __shfl_sync_with_mode_i32 __shfl_up_sync_i32 "
     "__shfl_xor_sync_i32 arrive_inc arrive_inc_asm atomic_add_per_warp fence globaltimer globaltimer_hi "
     "globaltimer_lo laneid ld_acquire ld_b32 load_v2_b64 load_v4_b32 load_v4_s32 load_v4_u32 membar "
     "multimem_ld_reduce_p_v4 multimem_ld_reduce_v4 multimem_st_b32 multimem_st_b64 multimem_st_p_b32 "
     "multimem_st_v2 multimem_st_v4 ntid pack_b32_v2 red_release smid st_b32 st_v2_u32 st_v4_b32 st_v4_u32 "
     "tma_sync wait_eq"},
    {"extra", "triton_dist.language.extra.language_extra.*",
     "__syncthreads atomic_add atomic_cas ld ld_vector num_threads num_warps pack st st_vector "
     "threads_per_warp tid unpack"},
    {"extra", "triton_dist.language.extra.cuda.tma_language.*",
     "bar_warp_sync elect_one_sync named_barrier_arrive named_barrier_sync warp_idx"},
    {"extra", "triton_dist.language.extra.hip.language_extra.*", "clock load store sync_grid wallclock"},
    {"dl.tma", "triton_dist.language.tma.*",
     "PipelineState TmaPipeline create_tmap_2d store_and_wait tmap_update_address"},
    {"dl.tma", "triton_dist.language.extra.cuda.tma_language.*",
     "bar_warp_sync cp_async_bulk_commit_group cp_async_bulk_global_to_shared cp_async_bulk_shared_to_global "
     "cp_async_bulk_wait_group cvta_generic_to_shared cvta_global_to_generic_u64 elect_one_sync "
     "fence_async_shared fence_proxy_async fence_proxy_tensormap_acquire get_dynamic_smem_pointer "
     "mbarrier_arrive mbarrier_arrive_expect_tx mbarrier_expect_transaction mbarrier_expect_tx mbarrier_init "
     "mbarrier_invalidate mbarrier_try_wait_parity mbarrier_wait_parity named_barrier_arrive "
     "named_barrier_sync prefetch_tensor_2d_l2 prefetch_tensormap tensormap_cp_fenceproxy "
     "tensormap_replace_box_dim tensormap_replace_element_stride tensormap_replace_elemtype "
     "tensormap_replace_fill_mode tensormap_replace_global_address tensormap_replace_global_dim "
     "tensormap_replace_global_stride tensormap_replace_interleave_layout tensormap_replace_rank "
     "tensormap_replace_swizzle_mode tensormap_smem_zero_first_warp tma_load_2d tma_load_2d_pred tma_store_2d "
     "warp_idx"},
};

constexpr Group kOpenShmem[] = {
    {"dl", "shmem_n_pes", "num_ranks"},
    {"dl", "shmem_my_pe", "rank"},
    {"dl", "shmem_ptr", "symm_at"},
    {"dl", "shmem_int64_wait_until_all", "wait"},
    {"shmem", "shmem_int64_atomic_add", "atomic_add_int64"},
    {"shmem", "shmem_uint64_atomic_add", "atomic_add_uint64"},
    {"shmem", "shmem_int64_atomic_fetch_add", "atomic_fetch_add_int64"},
    {"shmem", "shmem_uint64_atomic_fetch_add", "atomic_fetch_add_uint64"},
    {"shmem", "shmem_*",
     "barrier_all broadcastmem char_p double_p fcollectmem fence float_p getmem getmem_nbi int16_p int32_p "
     "int64_p int8_p int_p long_p longlong_p my_pe n_pes putmem putmem_nbi putmem_signal putmem_signal_nbi "
     "quiet short_p signal_wait_until sync_all team_my_pe team_n_pes team_sync team_translate_pe uchar_p "
     "uint16_p uint32_p uint64_p uint8_p uint_p ulong_p ulong_put_signal ulonglong_p ushort_p"},
    {"shmem", "shmem_<type>_broadcast", "broadcast"},
    {"shmem", "shmem_<type>_fcollect", "fcollect"},
    {"shmem", "shmem_int32_wait_until", "int32_wait_until_equals int32_wait_until_greater_than"},
    {"shmem", "shmem_int64_wait_until", "int64_wait_until_equals int64_wait_until_greater_than"},
    {"shmem", "shmem_uint32_wait_until", "uint32_wait_until_equals uint32_wait_until_greater_than"},
    {"shmem", "shmem_uint64_wait_until", "uint64_wait_until_equals uint64_wait_until_greater_than"},
    {"shmem", "shmem_double_put_nbi", "put_double_nbi"},
    {"shmem", "shmem_float_put_nbi", "put_float_nbi"},
    {"shmem", "shmem_uint32_put_nbi", "put_uint32_nbi"},
    {"shmem", "shmem_uint64_put_nbi", "put_uint64_nbi"},
    {"shmem", "shmem_ptr", "remote_ptr"},
    {"shmem", "shmem_team_sync", "sync"},
};

// Tandem's own.
constexpr Group kNowhere[] = {
    {"tl", "", "inline_intrinsic_elementwise squeeze unsqueeze"},
    {"dl", "", "arriving call_number dealt divided leaving ordered spread"},
    {"shmem", "",
     "barrier_wave barrier_wg broadcast_wave broadcast_wg broadcastmem_wave broadcastmem_wg fcollect_wave "
     "fcollect_wg fcollectmem_wave fcollectmem_wg putmem_rma_nbi_wave putmem_rma_nbi_wg putmem_rma_wave "
     "putmem_rma_wg putmem_signal_rma_nbi_wave putmem_signal_rma_nbi_wg putmem_signal_rma_wave "
     "putmem_signal_rma_wg sync_all_wave sync_all_wg sync_block sync_warp sync_wave sync_wg team_sync_wave "
     "team_sync_wg"},
    {"extra", "", "__syncwarp cp_async cp_async_commit_group cp_async_wait_group expect sync_threads"},
    {"dl.tma", "", "cvta_shared_to_generic fence_mbarrier_init"},
    {"tl.extra.libdevice", "", "max min"},
};

using Names = std::unordered_map<std::string, std::string>;

Names patterns(std::span<const Group> groups) {
  Names names;
  for (const Group& group : groups) {
    std::istringstream words(group.names);
    for (std::string name; words >> name;) names[std::string(group.module) + "." + name] = group.pattern;
  }
  return names;
}

// Finds the pattern of a name or of all names of its module, and puts the name into it.
std::string nameIn(const Names& names, const std::string& canonicalName) {
  size_t dot = canonicalName.rfind('.');
  auto found = names.find(canonicalName);
  if (found == names.end()) found = names.find(canonicalName.substr(0, dot) + ".*");
  if (found == names.end()) return "";
  std::string pattern = found->second;
  size_t star = pattern.find('*');
  return star == pattern.npos ? pattern : pattern.replace(star, 1, canonicalName.substr(dot + 1));
}

}  // namespace

std::optional<Elsewhere> elsewhere(const std::string& canonicalName) {
  static const Names triton = patterns(kTriton), tritonDistributed = patterns(kTritonDistributed),
                     openShmem = patterns(kOpenShmem), nowhere = patterns(kNowhere);
  if (nowhere.contains(canonicalName)) return Elsewhere{};
  Elsewhere names{nameIn(triton, canonicalName), nameIn(tritonDistributed, canonicalName),
                  nameIn(openShmem, canonicalName)};
  if (names.triton.empty() && names.tritonDistributed.empty() && names.openShmem.empty()) return std::nullopt;
  return names;
}

}  // namespace tandem::frontend
