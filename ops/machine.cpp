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

void take(const json& from, const char* name, double unit, double& into) {
  auto found = from.find(name);
  if (found == from.end() || !found->is_number()) return;
  if (double value = found->get<double>() * unit; value > 0 && value < 1e18) into = value;
}

void takeGreatest(const json& from, const char* name, double unit, double& into) {
  auto table = from.find(name);
  if (table == from.end() || !table->is_object()) return;
  double greatest = 0;
  for (const json& value : *table)
    if (value.is_number()) greatest = std::max(greatest, value.get<double>());
  if (greatest > 0) into = greatest * unit;
}

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

Machine machineOf(const std::string& profile, const std::string& gpu) {
  Machine machine;
  json kept = json::parse(profile, nullptr, /*allow_exceptions=*/false);
  if (!kept.is_object() || kept.value("version", json()) != kProfileVersion || kept.value("device", json()) != gpu)
    return machine;
  take(kept, "copy_gbps", kBytesOfGb, machine.copyBytes);
  takeGreatest(kept, "store_gbps", kBytesOfGb, machine.storeBytes);
  take(kept, "copy_us", 1, machine.copyUs);
  take(kept, "signal_round_trip_us", 1, machine.roundTripUs);
  take(kept, "launch_us", 1, machine.launchUs);
  take(kept, "gemm_bf16_tflops", kOperationsOfTflop, machine.bf16Operations);
  take(kept, "gemm_fp8_tflops", kOperationsOfTflop, machine.fp8Operations);
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
  json in = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (in.is_object())
    for (const Member& m : kMembers) take(in, m.name, 1, machine.*m.value);
  return machine;
}

}  // namespace tandem::ops
