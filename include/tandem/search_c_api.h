/* Every schedule of a small simulated computation, one run after another. What td_last_error() says holds here too. */
#ifndef TANDEM_SEARCH_C_API_H
#define TANDEM_SEARCH_C_API_H
#include "tandem/c_api.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_search td_search;

/* reduction: of schedules that differ only in the order of steps that do not concern each other, one is run. */
TANDEM_API int td_search_create(int reduction, td_search** search);
TANDEM_API void td_search_destroy(td_search* search);
/* As td_session_create, of simulated ranks: this run follows the search's next schedule. One session at a time; the
 * search must live as
 *    long as it does. A run that only repeats what others cover is ended early: its calls fail as after td_interrupt. */
TANDEM_API int td_search_session(td_search* search, const char* options, td_session** session);
/* Of the run that is over: {"schedule": "0.2.1" (the option of a session that does the same again), "steps": 7,
 * "redundant": false,
 *    "diverged": false (true: the computation does not do the same under the same schedule)} */
TANDEM_API int td_search_run(td_search* search, char** json);
/* After a run: 1 when another schedule is left, for the next session. */
TANDEM_API int td_search_next(td_search* search, int* more);

#ifdef __cplusplus
}
#endif
#endif
