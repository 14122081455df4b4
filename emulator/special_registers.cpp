#include "emulator/special_registers.h"
#include "emulator/warp.h"
#include <chrono>
#include <map>

namespace tandem::emulator {
namespace {

template <class Now>
Outcome readAll(Warp& warp, const Instruction& in, Mask active, Now now) {
  uint64_t value = now();
  eachLane(active, [&](unsigned lane) { warp.set(in.slots[0], lane, value); });
  return Outcome::Next;
}

// Counts the host's nanoseconds, so that waits of a number of cycles end.
Outcome readTimer(Warp& warp, const Instruction& in, Mask active) {
  return readAll(warp, in, active, [] {
    return uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  });
}

Outcome readTimerHigh(Warp& warp, const Instruction& in, Mask active) {
  readTimer(warp, in, active);
  eachLane(active, [&](unsigned lane) { warp.lanes(in.slots[0])[lane] >>= 32; });
  return Outcome::Next;
}

}  // namespace

std::optional<Initial::Kind> constantRegister(const std::string& name) {
  using K = Initial::Kind;
  static const std::map<std::string, K> kNames = {
      {"%tid.x", K::TidX},
      {"%tid.y", K::TidY},
      {"%tid.z", K::TidZ},
      {"%ntid.x", K::NtidX},
      {"%ntid.y", K::NtidY},
      {"%ntid.z", K::NtidZ},
      {"%ctaid.x", K::CtaidX},
      {"%ctaid.y", K::CtaidY},
      {"%ctaid.z", K::CtaidZ},
      {"%nctaid.x", K::NctaidX},
      {"%nctaid.y", K::NctaidY},
      {"%nctaid.z", K::NctaidZ},
      {"%clusterid.x", K::ClusterIdX},
      {"%clusterid.y", K::ClusterIdY},
      {"%clusterid.z", K::ClusterIdZ},
      {"%nclusterid.x", K::NclusterIdX},
      {"%nclusterid.y", K::NclusterIdY},
      {"%nclusterid.z", K::NclusterIdZ},
      {"%cluster_ctaid.x", K::ClusterCtaidX},
      {"%cluster_ctaid.y", K::ClusterCtaidY},
      {"%cluster_ctaid.z", K::ClusterCtaidZ},
      {"%cluster_nctaid.x", K::ClusterNctaidX},
      {"%cluster_nctaid.y", K::ClusterNctaidY},
      {"%cluster_nctaid.z", K::ClusterNctaidZ},
      {"%cluster_ctarank", K::ClusterCtarank},
      {"%cluster_nctarank", K::ClusterNctarank},
      {"%laneid", K::Laneid},
      {"%warpid", K::Warpid},
      {"%nwarpid", K::Nwarpid},
      {"%smid", K::Smid},
      {"%nsmid", K::Nsmid},
      {"%gridid", K::Gridid},
      {"%lanemask_eq", K::LanemaskEq},
      {"%lanemask_lt", K::LanemaskLt},
      {"%lanemask_le", K::LanemaskLe},
      {"%lanemask_gt", K::LanemaskGt},
      {"%lanemask_ge", K::LanemaskGe},
      {"%dynamic_smem_size", K::DynamicSharedBytes},
      {"%total_smem_size", K::TotalSharedBytes},
  };
  auto found = kNames.find(name);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

Handler changingRegister(const std::string& name) {
  if (name == "%clock" || name == "%clock64" || name == "%globaltimer" || name == "%globaltimer_lo") return readTimer;
  return name == "%clock_hi" || name == "%globaltimer_hi" ? readTimerHigh : nullptr;
}

}  // namespace tandem::emulator
