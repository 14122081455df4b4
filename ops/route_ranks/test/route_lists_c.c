/* The lists of a route through the generated header, in C. */
#include "tandem/ops_c_api.h"

int listsFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, int64_t experts, int64_t topK, int64_t align,
               int64_t destinations) {
  const int int32 = 3;
  td_route_align* aligned = 0;
  td_route_ranks* listed = 0;
  int failed = td_route_align_create(session, rank, m, experts, topK, align, int32, "{}", &aligned) ||
               td_route_ranks_create(session, rank, m, experts, topK, destinations, int32, "{}", &listed) ||
               td_route_align_run(aligned, 0, tensors[0], tensors[1], tensors[2], tensors[3], m) ||
               td_route_ranks_run(listed, 0, tensors[0], tensors[4], tensors[5], tensors[6], m) || td_route_align_close(aligned) ||
               td_route_ranks_close(listed);
  td_route_align_destroy(aligned);
  td_route_ranks_destroy(listed);
  return failed;
}
