// The C ABI: the search through all schedules. No exception leaves this file.
#include "api/guarded.h"
#include "api/handles.h"
#include "api/session_options.h"
#include "api/text_out.h"
#include "interpreter/schedule/search.h"
#include "tandem/search_c_api.h"

using namespace tandem;
using nlohmann::json;

struct td_search {
  std::shared_ptr<interpreter::ScheduleSearch> search;
};

namespace {

interpreter::ScheduleSearch& searchOf(td_search* s) { return *required(s, "search").search; }

}  // namespace

extern "C" {

int td_search_create(int reduction, td_search** search) {
  return guarded([&] {
    auto& place = required(search, "search");
    place = new td_search{std::make_shared<interpreter::ScheduleSearch>(reduction != 0)};
  });
}
void td_search_destroy(td_search* search) { delete search; }
int td_search_session(td_search* s, const char* options, td_session** session) {
  return guarded([&] {
    auto made = sessionFor(&required(options, "options"), required(s, "search").search);
    auto& place = required(session, "session");
    place = new td_session{std::move(made)};
  });
}
int td_search_run(td_search* s, char** out) {
  return guarded([&] {
    const interpreter::ScheduleSearch& search = searchOf(s);
    auto& place = required(out, "out");
    place = copyOut(json{{"schedule", search.schedule()},
                         {"steps", search.steps()},
                         {"redundant", search.redundant()},
                         {"diverged", search.diverged()}});
  });
}
int td_search_next(td_search* s, int* more) {
  return guarded([&] { required(more, "more") = searchOf(s).next(); });
}
}
