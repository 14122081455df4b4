// Profiles: the members of a machine as JSON, and the ones that come with Tandem.
#include "model/machine.h"
#include "model/profiles.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tandem::model {
namespace {
using nlohmann::json;

constexpr int kVersion = 2;
constexpr double kMost = 1e12;  // of any speed, in its unit
constexpr int kMostPrograms = 1 << 16;

struct Speed {
  const char* name;
  const char* what;
  double Machine::* value = nullptr;
  ByPrograms Machine::* table = nullptr;
};

constexpr Speed kSpeeds[] = {
#define TANDEM_SPEED(name, member, what) {#name, what, &Machine::member, nullptr},
#define TANDEM_TABLE(name, member, what) {#name, what, nullptr, &Machine::member},
#include "model/speeds.inc"
};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("the profile " + what); }

// A time may be 0; a rate or a ratio may not.
double numberOf(const std::string& name, const json& value) {
  bool isTime = name.ends_with("_us") || name.ends_with("_ns");
  double number = value.is_number() ? value.get<double>() : -1;
  if (!(number <= kMost) || !(isTime ? number >= 0 : number >= 1e-9))
    fail("has `" + name + "` " + value.dump() + ", a number " + (isTime ? "from" : "above") + " 0 is needed");
  return number;
}

ByPrograms tableOf(const std::string& name, const json& value) {
  if (!value.is_object()) fail("has `" + name + "` " + value.dump() + ", rates by numbers of programs are needed");
  ByPrograms out;
  for (auto& [programs, rate] : value.items()) {
    int count = 0;
    for (char c : programs)
      count = c >= '0' && c <= '9' && count < kMostPrograms ? count * 10 + (c - '0') : kMostPrograms;
    if (programs.empty() || count < 1 || count >= kMostPrograms)
      fail("has `" + name + "` for `" + programs + "`, a number of programs is needed");
    out[count] = numberOf(name, rate);
  }
  return out;
}

json parsed(const std::string& text) {
  json in = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!in.is_object()) fail("is no JSON object");
  if (in.value("version", json()) != kVersion)
    fail("has version " + in.value("version", json()).dump() + ", " + std::to_string(kVersion) +
         " is needed: measure again with `tandem doctor --profile`");
  return in;
}

std::string wordOf(const json& in, const char* name) {
  json value = in.value(name, json(""));
  if (!value.is_string()) fail("has `" + std::string(name) + "` " + value.dump() + ", a text is needed");
  return value.get<std::string>();
}

// `machine` with what the profile says.
Machine with(Machine machine, const json& in) {
  for (auto& [name, value] : in.items()) {
    if (name == "version" || name == "device" || name == "source") continue;
    if (name == "ranks") {
      if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kMostPrograms)
        fail("has `ranks` " + value.dump() + ", a number of GPUs is needed");
      machine.ranks = value.get<int>();
    } else if (name == "measured") {
      if (!value.is_boolean()) fail("has `measured` " + value.dump() + ", true or false is needed");
      machine.measured = value.get<bool>();
    } else {
      auto speed = std::find_if(std::begin(kSpeeds), std::end(kSpeeds), [&](const Speed& s) { return s.name == name; });
      if (speed == std::end(kSpeeds)) fail("has `" + name + "`, which is no speed of a machine");
      if (speed->value)
        machine.*speed->value = numberOf(name, value);
      else if (ByPrograms table = tableOf(name, value); !table.empty())  // one GPU has no peer to measure
        machine.*speed->table = std::move(table);
    }
  }
  machine.device = wordOf(in, "device");
  machine.source = wordOf(in, "source");
  return machine;
}

struct Named {
  std::vector<std::string> names;
  std::map<std::string, Machine, std::less<>> machines;
};

// A value that the profile of a machine lacks is that of the first machine.
const Named& named() {
  static const Named all = [] {
    Named out;
    for (const auto& [name, text] : profileTexts()) {
      Machine base = out.names.empty() ? Machine() : out.machines.at(out.names.front());
      out.machines.emplace(name, with(base, parsed(text)));
      out.names.emplace_back(name);
    }
    return out;
  }();
  return all;
}

}  // namespace

double Machine::storeBytes() const {
  double greatest = 0;
  for (auto [programs, gbps] : storeGbps) greatest = std::max(greatest, gbps);
  return greatest * 1e3;
}

double Machine::operations(int64_t elementBytes) const {
  return (elementBytes >= 4 ? gemmFp32Tflops : elementBytes == 1 ? gemmFp8Tflops : gemmBf16Tflops) * 1e6;
}

const std::vector<std::string>& machineNames() { return named().names; }

const Machine& namedMachine(std::string_view name) {
  if (auto found = named().machines.find(name); found != named().machines.end()) return found->second;
  std::string all;
  for (const std::string& one : machineNames()) all += (all.empty() ? "`" : ", `") + one + "`";
  throw std::runtime_error("there is no machine `" + std::string(name) + "`; there are " + all);
}

const Machine& machineOfGpu(std::string_view device) {
  for (const std::string& name : machineNames()) {
    const Machine& machine = namedMachine(name);
    if (!machine.device.empty() && device.starts_with(machine.device)) return machine;
  }
  return namedMachine(machineNames().front());
}

Machine readMachine(const std::string& profile) {
  json in = parsed(profile);
  if (!in.contains("device")) fail("names no GPUs: `device` is needed");
  Machine base = machineOfGpu(wordOf(in, "device"));
  double fp8PerBf16 = base.gemmFp8Tflops / base.gemmBf16Tflops;
  base.measured = true;
  Machine machine = with(base, in);
  if (!in.contains("gemm_fp8_tflops")) machine.gemmFp8Tflops = machine.gemmBf16Tflops * fp8PerBf16;
  machine.gemmAloneRatio = std::max(1.0, machine.gemmAloneRatio);
  return machine;
}

Machine machineFrom(const std::string& nameOrProfile) {
  return nameOrProfile.starts_with("{") ? readMachine(nameOrProfile) : namedMachine(nameOrProfile);
}

std::string textOf(const Machine& machine) {
  json out = {{"version", kVersion},
              {"device", machine.device},
              {"source", machine.source},
              {"ranks", machine.ranks},
              {"measured", machine.measured}};
  for (const Speed& s : kSpeeds) {
    if (s.value) out[s.name] = machine.*s.value;
    if (!s.table) continue;
    json& table = out[s.name] = json::object();
    for (auto [programs, gbps] : machine.*s.table) table[std::to_string(programs)] = gbps;
  }
  return out.dump();
}

std::string speedsAsJson() {
  json out = json::array();
  for (const Speed& s : kSpeeds) out.push_back({{"name", s.name}, {"what", s.what}, {"table", s.table != nullptr}});
  return out.dump();
}

}  // namespace tandem::model
