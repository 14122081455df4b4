/* A route and a mixture of experts through the generated header, in C. */
#include "tandem/ops_c_api.h"

int mixtureFromC(td_session* session, int rank, uint64_t ids, uint64_t weights, uint64_t route, uint64_t x, uint64_t up,
                 uint64_t down, uint64_t out, int64_t m, int64_t n, int64_t k, int64_t experts, int64_t topK) {
  const int int32 = 3, fp32 = 13;
  td_route_ids* dealt = 0;
  td_moe_mlp* op = 0;
  int failed = td_route_ids_create(session, rank, m, experts, topK, int32, "{}", &dealt) ||
               td_moe_mlp_create(session, rank, m, n, k, experts, topK, fp32, "{}", &op) ||
               td_route_ids_run(dealt, 0, ids, weights, route, m) ||
               td_moe_mlp_run(op, 0, x, up, down, route, 0, 0, 0, 0, 0, out, m) || td_moe_mlp_close(op) || td_route_ids_close(dealt);
  td_moe_mlp_destroy(op);
  td_route_ids_destroy(dealt);
  return failed;
}
