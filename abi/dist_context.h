/* What a kernel that names ranks reads about them. The runtime keeps one context for each rank in that rank's device
 * memory and passes its address to every kernel whose image has `usesRanks`, as a hidden last parameter, after the
 * tensor maps.
 *
 * An address p in this rank's part of the symmetric heap is p + (peer - rank) * stride on `peer`: the runtime maps
 * the ranks' heaps side by side. A run that goes through NVSHMEM has no stride: `offsets` says how far each peer's
 * part is, if it is mapped. Ranks in `members` and `indices` are the world's. A team's barrier counts in `epoch`,
 * which only this rank's kernels advance, and in `signals`: a symmetric array with a slot for each member, in which
 * member i writes slot i of all others: the number of its call, and below it TANDEM_DIST_MARK_BITS that calls which
 * are alike have alike (tandem_dist_collective, then a hash). Both are zero at the start and never cleared. */
#ifndef TANDEM_ABI_DIST_CONTEXT_H
#define TANDEM_ABI_DIST_CONTEXT_H
#include "abi/trace.h"
#include "tandem/compare.h"
#include <stdint.h>

#define TANDEM_DIST_MARK_BITS 20
#define TANDEM_DIST_KIND_BITS 2
enum tandem_dist_collective { TANDEM_DIST_BARRIER, TANDEM_DIST_BROADCAST, TANDEM_DIST_FCOLLECT };

/* What the watch tells that no wait is: rank `expected` has no address for `signal` here; the member of slot
 * `signal` calls a collective unlike this rank's, which is the number above TANDEM_DIST_UNLIKE, with `expected`
 * bytes. */
#define TANDEM_DIST_UNMAPPED_PEER TD_COMPARE_COUNT
#define TANDEM_DIST_UNLIKE (TANDEM_DIST_UNMAPPED_PEER + 1)

/* How waits end that nobody satisfies. One for each rank, in host memory that the device reaches; the host zeroes
 * it, kernels look at it only after they have polled for a while. A wait that gives up returns as if it were
 * satisfied: the kernel then runs to its end with wrong results, and the host reports why. */
typedef struct tandem_dist_watch {
  /* set by the host (a peer is gone): every wait gives up; the device sets it too when one wait has given up */
  uint32_t stop;
  uint32_t found;      /* set by the device: 1 while, 2 once what follows is written, by the first wait that gave up */
  uint64_t timeout_ns; /* of one wait, by the device's clock; 0: never */
  const char* place;   /* device address of the text "file:line:column\0kernel" */
  int32_t program[3];
  int32_t compare; /* one of td_compare, or no wait, as above */
  uint64_t signal; /* its address on this rank */
  uint64_t expected, seen;
} tandem_dist_watch;

typedef struct tandem_dist_team {
  int32_t rank;           /* this rank's index in the team; -1: not a member */
  int32_t size;           /* members */
  const int32_t* members; /* [size] ranks, in team order */
  const int32_t* indices; /* [rank_count] a rank's index in the team, or -1 */
  uint64_t* epoch;        /* barriers that this rank has passed; a collective is two */
  uint64_t* signals;      /* [size] symmetric; this rank's part */
  uint64_t multicast;     /* what heap_base is as a multicast address over the team; 0: none */
} tandem_dist_team;

#define TANDEM_DIST_UNMAPPED INT64_MIN

typedef struct tandem_dist_context {
  int32_t rank, rank_count;
  uint64_t heap_base;            /* of this rank's part */
  int64_t stride;                /* bytes from a rank's part to the next one's */
  const tandem_dist_team* teams; /* [team_count]; 0 is the world */
  int32_t team_count, reserved;
  tandem_dist_watch* watch; /* device address; null: waits never give up */
  /* [rank_count] bytes from this rank's part to another's, or TANDEM_DIST_UNMAPPED; null: by stride */
  const int64_t* offsets;
  tandem_trace* trace; /* device address; null: nothing is recorded */
} tandem_dist_context;

#endif
