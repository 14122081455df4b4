// Reads reports and turns errors into exceptions.
#include "api/reports.h"

namespace tandem {

using nlohmann::json;

std::string takeText(int status, char* text) {
  if (status) throw Error(td_last_error());
  std::string out = text;
  td_free(text);
  return out;
}

json reportsOf(td_session* session) {
  char* text = nullptr;
  int status = td_reports(session, &text);
  return json::parse(takeText(status, text));
}

void throwErrors(const json& reports) {
  std::string text;
  std::vector<std::string> kinds;
  for (auto& r : reports) {
    if (r["severity"] != "error") continue;
    text += r["text"].get<std::string>();
    kinds.push_back(r["kind"]);
  }
  if (!kinds.empty()) throw SimulationError(text, kinds);
}

}  // namespace tandem
