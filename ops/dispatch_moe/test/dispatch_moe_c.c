/* The two halves of an expert-parallel layer through the generated header, in C. */
#include "tandem/ops_c_api.h"

int expertsFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, const int64_t* sizes) {
  const int fp32 = 13;
  td_dispatch_moe* up = 0;
  td_moe_combine* down = 0;
  int failed = td_dispatch_moe_create(session, rank, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], fp32, "{}", &up) ||
               td_moe_combine_create(session, rank, sizes[0], sizes[2], sizes[1], sizes[3], sizes[4], fp32, "{}", &down) ||
               td_dispatch_moe_run(up, 0, tensors[0], tensors[1], tensors[2], tensors[3], 0, 0, 0, 0, tensors[5], 0, tensors[6], m) ||
               td_moe_combine_run(down, 0, tensors[6], tensors[4], tensors[5], 0, 0, 0, tensors[7], m) || td_dispatch_moe_close(up) ||
               td_moe_combine_close(down);
  td_dispatch_moe_destroy(up);
  td_moe_combine_destroy(down);
  return failed;
}
