// What all-reduces share: the sizes at which they change their way, and the options.
#pragma once
#include "model/machine.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/collective.h"

namespace tandem::ops {

// Returns the most bytes that go a way. One shot sends (R - 1) · S, two shots 2 · S · (R - 1) / R with a flight more, so
// one shot is quicker up to R / (R - 1) / (R - 2) of what the link carries during a flight: `reach` times what it is on
// the machine of the defaults. Chunks send as much as packets in two flights, with a fence and a signal more in each:
// they are for what would take too much memory.
int64_t mostBytes(AllReduceWay way, int ranks, double reach);
double reachOf(const model::Machine& machine);
AllReduceWay wayFor(int64_t bytes, int ranks, double reach);
// The most elements that go a way, of up to `elements` and where `given` was asked for; 0: none do.
int64_t mostElements(AllReduceWay way, AllReduceWay given, int64_t elements, DType dtype, int ranks, double reach);

// The options of AllReduceConfig.
template <class Config>
std::vector<Option> allReduceOptions() {
  Option way{.name = "way", .what = "in how many flights, chosen by size", .kind = Option::Kind::Word, .least = 0};
  way.words = {"auto", "one_shot", "two_shot_packets", "two_shot"};
  way.get = [](const void* c) { return int64_t(static_cast<const Config*>(c)->way); };
  way.set = [](void* c, int64_t value) { static_cast<Config*>(c)->way = AllReduceWay(value); };
  std::vector<Option> out = collectiveOptions<Config>();
  out.insert(out.begin(), way);
  return out;
}

}  // namespace tandem::ops
