// The C ABI: descriptions of machines. No exception leaves this file.
#include "api/guarded.h"
#include "api/required.h"
#include "api/text_out.h"
#include "model/machine.h"
#include "tandem/c_api.h"

using namespace tandem;
using nlohmann::json;

extern "C" {

int td_machine_named(const char* name, char** out) {
  return guarded([&] {
    auto& place = required(out, "json");
    place = copyOut(model::textOf(model::namedMachine(&required(name, "name"))));
  });
}
int td_machine_read(const char* profile, char** out) {
  return guarded([&] {
    auto& place = required(out, "json");
    place = copyOut(model::textOf(model::readMachine(&required(profile, "profile"))));
  });
}
int td_machine_speeds(char** out) {
  return guarded([&] {
    auto& place = required(out, "json");
    place = copyOut(model::speedsAsJson());
  });
}

}  // extern "C"
