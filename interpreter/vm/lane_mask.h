// Sets of a program's threads.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem::interpreter {

// The threads that execute. `all`: every one; `bytes` may then be empty.
struct LaneMask {
  std::vector<uint8_t> bytes;
  bool all = true;
  uint32_t active = 0;

  bool has(uint32_t lane) const { return all || bytes[lane]; }
};

template <class Keep> LaneMask makeMask(uint32_t lanes, Keep keep) {
  LaneMask out;
  out.bytes.resize(lanes);
  for (uint32_t lane = 0; lane < lanes; ++lane) out.active += out.bytes[lane] = keep(lane);
  out.all = out.active == lanes;
  return out;
}
inline LaneMask both(const LaneMask& a, const LaneMask& b, uint32_t lanes) {
  return makeMask(lanes, [&](uint32_t lane) { return a.has(lane) && b.has(lane); });
}
inline LaneMask either(const LaneMask& a, const LaneMask& b, uint32_t lanes) {
  return makeMask(lanes, [&](uint32_t lane) { return a.has(lane) || b.has(lane); });
}
inline LaneMask without(const LaneMask& a, const LaneMask& b, uint32_t lanes) {
  return makeMask(lanes, [&](uint32_t lane) { return a.has(lane) && !b.has(lane); });
}
inline bool covers(const LaneMask& a, const LaneMask& b, uint32_t lanes) { return without(b, a, lanes).active == 0; }

}  // namespace tandem::interpreter
