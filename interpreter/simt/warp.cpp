// Shuffle, ballot and elect: threads of one warp look at each other.
#include "interpreter/dist/team.h"
#include "interpreter/vm/handlers.h"

namespace tandem::interpreter {
namespace {

// The mask operand must name exactly threads that come: one that it names and that is not there is a hang or garbage on
// a GPU.
bool checkWarpMask(Machine& m, Run& run, const Prepared& i, const char* what) {
  for (uint32_t lane = 0; lane < run.lanes; ++lane) {
    if (!run.laneActive(lane)) continue;
    uint32_t named = uint32_t(integer(m, run, i.a, lane)), warp = lane / 32 * 32;
    if (!(named >> (lane & 31) & 1)) {
      fail(m, run, i, ReportKind::NonUniformWarpOperation,
           std::string(what) + " by thread " + std::to_string(lane) + ", which its mask " + hex(named) +
               " does not name");
      return false;
    }
    for (uint32_t k = 0; k < 32; ++k) {
      if (!(named >> k & 1) || run.laneActive(warp + k)) continue;
      fail(m, run, i, ReportKind::NonUniformWarpOperation,
           std::string(what) + " with mask " + hex(named) + " names thread " + std::to_string(warp + k) +
               ", which does not call it");
      return false;
    }
  }
  return true;
}

}  // namespace

namespace handlers {

Step shuffle(Machine& m, Run& run, const Prepared& i) {
  if (!checkWarpMask(m, run, i, "`shfl`")) return Step::Failed;
  size_t bytes = size_t(run.info(i.r).elemBytes) * run.info(i.r).vectorLength;
  const uint8_t* value = data(m, run, i.b);
  bool valueLanes = isLanes(run, i.b), resultLanes = isLanes(run, i.r);
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  for (uint32_t lane = 0; lane < (resultLanes ? run.lanes : 1); ++lane) {
    if (resultLanes && !run.laneActive(lane)) continue;
    int64_t by = integer(m, run, i.c, lane) & 31, own = lane & 31, from = own;
    switch (i.as<imm::Shuffle>().mode) {
      case 0: from = by; break;
      case 1: from = own - by; break;
      case 2: from = own + by; break;
      default: from = own ^ by; break;
    }
    if (from < 0 || from > 31) from = own;
    uint32_t source = lane / 32 * 32 + uint32_t(from);
    if (!run.laneActive(source))
      return fail(m, run, i, ReportKind::NonUniformWarpOperation,
                  "`shfl`: thread " + std::to_string(lane) + " reads thread " + std::to_string(source) +
                      ", which is not active");
    memcpy(result.data() + lane * bytes, value + (valueLanes ? source * bytes : 0), bytes);
  }
  result.commit();
  return Step::Next;
}

Step ballot(Machine& m, Run& run, const Prepared& i) {
  if (i.a != kNone && !checkWarpMask(m, run, i, "`ballot`")) return Step::Failed;
  Result result(m, run, i.r);
  auto* out = reinterpret_cast<uint32_t*>(result.data());
  memset(out, 0, registerBytes(run, i.r));
  for (uint32_t warp = 0; warp < run.lanes; warp += 32) {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < 32 && warp + k < run.lanes; ++k)
      if (run.laneActive(warp + k) && integer(m, run, i.b, warp + k)) bits |= 1u << k;
    if (!isLanes(run, i.r)) {
      *out = bits;
      break;
    }
    for (uint32_t k = 0; k < 32 && warp + k < run.lanes; ++k) out[warp + k] = bits;
  }
  result.commit();
  return Step::Next;
}

Step elect(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  for (uint32_t warp = 0; warp < run.lanes; warp += 32)
    for (uint32_t k = 0; k < 32 && warp + k < run.lanes; ++k)
      if (run.laneActive(warp + k)) {
        if (isLanes(run, i.r) || warp + k == 0) result.data()[isLanes(run, i.r) ? warp + k : 0] = 1;
        break;
      }
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
