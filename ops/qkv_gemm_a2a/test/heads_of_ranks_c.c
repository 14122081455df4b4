/* Projections before and behind an attention whose heads are dealt to ranks, through the generated header, in C. */
#include "tandem/ops_c_api.h"

int headsFromC(td_session* session, int rank, uint64_t x, uint64_t w, uint64_t kv, uint64_t q, uint64_t wo, uint64_t out, int64_t rows) {
  const int fp16 = 11;
  td_qkv_gemm_a2a* before = 0;
  td_a2a_o_gemm* behind = 0;
  int failed = td_qkv_gemm_a2a_create(session, rank, rows, 16, 2, 1, 16, fp16, "{\"bands\": 1}", &before) ||
               td_a2a_o_gemm_create(session, rank, rows, 16, 2, 1, 16, fp16, "{}", &behind) ||
               td_qkv_gemm_a2a_run(before, 0, x, w, kv, q, rows) || td_a2a_o_gemm_run(behind, 0, q, wo, out, rows) ||
               td_qkv_gemm_a2a_close(before) || td_a2a_o_gemm_close(behind);
  td_qkv_gemm_a2a_destroy(before);
  td_a2a_o_gemm_destroy(behind);
  return failed;
}
