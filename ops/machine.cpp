// The machine's numbers in JSON: the profile's in GB/s and TFLOP/s, the ranks' own as they are.
#include "ops/machine.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {
using nlohmann::json;

constexpr int kProfileVersion = 2;
constexpr double kFp32Operations = 40e6;
constexpr double kBytesOfGb = 1e3, kOperationsOfTflop = 1e6;  // a microsecond's

void take(const json& value, double unit, double& into) {
  if (!value.is_number()) return;
  if (double number = value.get<double>() * unit; number > 1e-9 && number < 1e18) into = number;
}

void take(const json& from, const char* name, double unit, double& into) {
  if (auto found = from.find(name); found != from.end()) take(*found, unit, into);
}

void takeGreatest(const json& from, const char* name, double unit, double& into) {
  auto table = from.find(name);
  if (table == from.end() || !table->is_object()) return;
  double greatest = 0;
  for (const json& value : *table) {
    double speed = 0;
    take(value, unit, speed);
    greatest = std::max(greatest, speed);
  }
  if (greatest > 0) into = greatest;
}

json read(const std::string& profile) { return json::parse(profile, nullptr, /*allow_exceptions=*/false); }

struct Member {
  const char* name;
  double Machine::*value;
};
constexpr Member kMembers[] = {{"copy_bytes", &Machine::copyBytes},
                               {"store_bytes", &Machine::storeBytes},
                               {"copy_us", &Machine::copyUs},
                               {"round_trip_us", &Machine::roundTripUs},
                               {"launch_us", &Machine::launchUs},
                               {"bf16_operations", &Machine::bf16Operations},
                               {"fp8_operations", &Machine::fp8Operations},
                               {"alone_ratio", &Machine::aloneRatio}};

}  // namespace

double Machine::operations(DType dtype) const {
  if (dtype == DType::Float32) return kFp32Operations;
  return byteSize(dtype) == 1 ? fp8Operations : bf16Operations;
}

bool isProfileOf(const std::string& gpu, const std::string& profile) {
  json kept = read(profile);
  return kept.is_object() && kept.value("version", json()) == kProfileVersion && kept.value("device", json()) == gpu;
}

Machine machineOf(const std::string& profile, const std::string& gpu) {
  Machine machine;
  if (!isProfileOf(gpu, profile)) return machine;
  json kept = read(profile);
  take(kept, "copy_gbps", kBytesOfGb, machine.copyBytes);
  takeGreatest(kept, "store_gbps", kBytesOfGb, machine.storeBytes);
  take(kept, "copy_us", 1, machine.copyUs);
  take(kept, "signal_round_trip_us", 1, machine.roundTripUs);
  take(kept, "launch_us", 1, machine.launchUs);
  double ofDefault = machine.bf16Operations;
  take(kept, "gemm_bf16_tflops", kOperationsOfTflop, machine.bf16Operations);
  machine.fp8Operations *= machine.bf16Operations / ofDefault;
  take(kept, "gemm_alone_ratio", 1, machine.aloneRatio);
  machine.aloneRatio = std::max(1.0, machine.aloneRatio);
  return machine;
}

std::string textOf(const Machine& machine) {
  json out;
  for (const Member& m : kMembers) out[m.name] = machine.*m.value;
  return out.dump();
}

Machine machineFromText(const std::string& text) {
  Machine machine;
  json in = read(text);
  if (in.is_object())
    for (const Member& m : kMembers) take(in, m.name, 1, machine.*m.value);
  return machine;
}

}  // namespace tandem::ops
