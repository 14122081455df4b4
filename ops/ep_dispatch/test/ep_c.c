/* Dispatch and combine with a table of places through the generated header, in C. */
#include "tandem/ops_c_api.h"

int dispatchFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, const int64_t* sizes) {
  const int fp32 = 13;
  td_ep_dispatch* op = 0;
  int failed = td_ep_dispatch_create(session, rank, sizes[0], sizes[1], sizes[2], sizes[3], fp32,
                                     "{\"placed_experts\": 2, \"copies\": 1}", &op) ||
               td_ep_dispatch_run(op, 0, tensors[0], tensors[1], tensors[2], tensors[3], 0, tensors[4], 0, 0, tensors[5], m, 0, 0) ||
               td_ep_dispatch_close(op);
  td_ep_dispatch_destroy(op);
  return failed;
}

int combineFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, const int64_t* sizes) {
  const int fp32 = 13;
  td_ep_combine* op = 0;
  int failed = td_ep_combine_create(session, rank, sizes[0], sizes[1], sizes[2], sizes[3], fp32,
                                    "{\"placed_experts\": 2, \"copies\": 1}", &op) ||
               td_ep_combine_run(op, 0, tensors[0], tensors[1], tensors[2], tensors[3], tensors[4], m, 0, 0) ||
               td_ep_combine_close(op);
  td_ep_combine_destroy(op);
  return failed;
}
