// The C ABI: a run's trace, simulated or on GPUs. No exception leaves this file.
#include "runtime/trace/trace.h"
#include "api/guarded.h"
#include "api/handles.h"
#include "api/text_out.h"

using namespace tandem;
using nlohmann::json;

namespace {

interpreter::Trace traceOf(td_session* s) {
  if (auto trace = sessionOf(s).trace()) return std::move(*trace);
  throw std::runtime_error("the run was not traced: its session is made without `trace`");
}

void checkWidth(int width) {
  if (width < 1 || width > 10000)
    throw std::invalid_argument("`width` is " + std::to_string(width) + "; it is 1 to 10000");
}

}  // namespace

extern "C" {

int td_chrome_trace(td_session* s, char** out) {
  return guarded([&] {
    auto& place = required(out, "out");
    place = copyOut(runtime::chromeTrace(traceOf(s)));
  });
}
int td_timeline(td_session* s, int width, char** out) {
  return guarded([&] {
    checkWidth(width);
    auto& place = required(out, "out");
    place = copyOut(runtime::timeline(traceOf(s), width));
  });
}
int td_trace_summary(td_session* s, char** out) {
  return guarded([&] {
    auto& place = required(out, "out");
    place = copyOut(runtime::traceSummary(traceOf(s)));
  });
}
int td_read_trace(const char* trace, int width, char** out) {
  return guarded([&] {
    checkWidth(width);
    interpreter::Trace read = runtime::readChromeTrace(&required(trace, "trace"));
    auto& place = required(out, "out");
    place = copyOut(
        json{{"timeline", runtime::timeline(read, width)}, {"summary", json::parse(runtime::traceSummary(read))}});
  });
}

}  // extern "C"
