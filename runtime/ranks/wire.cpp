// Reports between ranks.
#include "runtime/ranks/wire.h"

namespace tandem::runtime::ranks {
namespace {

constexpr size_t kMaxText = 8000;  // of one field: a report fits a packet

std::string cut(const std::string& text) { return text.substr(0, kMaxText); }

}  // namespace

std::string encode(const RunReport& r) {
  Writer out;
  out.put(r.severity).put(r.rank).put(r.program).put(r.line).put(r.column);
  for (const std::string* text : {&r.kind, &r.message, &r.kernel, &r.file, &r.text}) out.text(cut(*text));
  return out.bytes;
}

RunReport decodeReport(const std::string& bytes) {
  Reader in(bytes);
  RunReport r;
  r.severity = in.get<Severity>();
  r.rank = in.get<int>();
  r.program = in.get<std::array<int32_t, 3>>();
  r.line = in.get<uint32_t>();
  r.column = in.get<uint32_t>();
  for (std::string* text : {&r.kind, &r.message, &r.kernel, &r.file, &r.text}) *text = in.text();
  return r;
}

}  // namespace tandem::runtime::ranks
