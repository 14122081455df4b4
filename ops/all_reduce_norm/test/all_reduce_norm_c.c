/* AllReduce + residual + RMSNorm through the generated header, in C. */
#include "tandem/ops_c_api.h"

int allReduceNormFromC(td_session* session, int rank, uint64_t x, uint64_t residual, uint64_t weight, uint64_t out, int64_t m,
                       int64_t columns) {
  const int fp32 = 13;
  td_all_reduce_norm* op = 0;
  int failed = td_all_reduce_norm_create(session, rank, m, columns, fp32, "{\"eps\": 0.5, \"way\": \"two_shot\"}", &op) ||
               td_all_reduce_norm_run(op, 0, x, residual, weight, 0, out, m) || td_all_reduce_norm_close(op);
  td_all_reduce_norm_destroy(op);
  return failed;
}
