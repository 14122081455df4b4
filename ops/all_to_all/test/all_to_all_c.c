/* AllToAll through the generated header, in C. */
#include "tandem/ops_c_api.h"

int allToAllFromC(td_session* session, int rank, uint64_t x, uint64_t out, int64_t maxM, int64_t columns, const int64_t* counts,
                  int count) {
  const int int32 = 3;
  td_all_to_all* op = 0;
  int failed = td_all_to_all_create(session, rank, maxM, columns, int32, "{}", &op) ||
               td_all_to_all_run(op, 0, x, out, 0, counts, count) || td_all_to_all_close(op);
  td_all_to_all_destroy(op);
  return failed;
}
