// Host side of attention over ranks: one kernel goes along the keys and values that are there while others come.
//
// A group of heads comes band after band, from one peer after the other, then the next group: the kernel's programs come in the same
// order. The channel counts all of them in turn, as slices.
//
// In a ring what a peer gets goes to one of two slots there. From the third rank on, the peer tells when its launch for the rank
// two before has ended, by a 1 in `free`, which this rank's stream waits for and puts back.
#include "ops/ag_attention/ag_attention.h"
#include "ops/attention/forms.h"
#include "ops/cdiv.h"
#include "ops/gathering.h"
#include "ops/kernel_text.h"
#include "tandem/error.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr const char* kFile = "ops/ag_attention/ag_attention.py";
constexpr int64_t kBandBytes = 16 << 20, kMostBands = 16, kSequencesAtOnce = 1024;
constexpr int64_t kMostGroups = 4, kLeastRowBytes = 2048;  // copy engines are slow with narrower rows

AttentionTile tileOf(const Team& team, const GatherAttentionConfig& config, int64_t d, int64_t dv, DType dtype) {
  return chosen(config, attentionForms(team.target(), headsOf(d, dv, dtype), dtype).front().tile);
}

}  // namespace

namespace tables {

const Table& ag_attention() {
  static const Table table = [] {
    using Config = GatherAttentionConfig;
    auto shape = [](const char* heads, const char* elements) {
      return std::vector<std::string>{"batch", "own(m)", heads, elements};
    };
    Table t{
        .name = "ag_attention",
        .className = "AllGatherAttention",
        .what = "out = softmax(q k^T * scale) v of each sequence and head, over the keys and values of all ranks.",
        .sizes = {{"max_m", "the most rows of a sequence over all ranks"}, {"batch", "sequences"}},
        .types = {DType::Float16, DType::BFloat16},
        .typeWords = "fp16 or bf16",
        .tensors = {{.name = "q", .shape = shape("hq", "d")},
                    {.name = "k", .shape = shape("hkv", "d")},
                    {.name = "v", .shape = shape("hkv", "dv")},
                    {.name = "cu", .shape = {"sequences + 1"}, .always = DType::Int32, .givenBy = "varlen"},
                    {.name = "sinks", .shape = {"hq"}, .always = DType::Float32, .givenBy = "any"},
                    {.name = "lse",
                     .shape = {"batch", "hq", "own(m)"},
                     .isOutput = true,
                     .always = DType::Float32,
                     .givenBy = "with_lse"},
                    {.name = "out", .shape = shape("hq", "dv"), .isOutput = true}},
        .numbers = {{"m", Number::Kind::Rows, "rows of a sequence over all ranks, or of all sequences with `varlen`"},
                    {"sequences", Number::Kind::Rows, "with `varlen`, else 1"},
                    {"longest", Number::Kind::Rows, "rows of the longest sequence: m without `varlen`"}},
        .options = attentionOptions<Config>()};
    std::vector<Size> heads = attentionSizes();
    t.sizes.insert(t.sizes.end(), heads.begin() + 1, heads.end());
    std::erase_if(t.options, [](const Option& o) { return o.name == "top_left"; });
    t.options.push_back(option<Config>("in_order", &Config::inOrder,
                                       "a rank's rows stand together in a sequence, else in two halves", 0, 1));
    t.options.push_back(
        option<Config>("with_lse", &Config::withLse, "the logarithms of the sums are written too", 0, 1));
    t.options.push_back(
        option<Config>("bands", &Config::bands, "of a rank's rows, each sent with a signal", 1, kMostBands));
    t.options.push_back(
        option<Config>("groups", &Config::groups, "of heads, whose keys travel and are used group by group", 1));
    t.options.push_back(option<Config>("ring", &Config::ring,
                                       "there is memory for the keys and values of two ranks, not of all", 0, 1));
    t.make = maker<AllGatherAttention, Config, 6>(ag_attention);
    return t;
  }();
  return table;
}

}  // namespace tables

AllGatherAttention::AllGatherAttention(Team& team, int64_t maxM, int64_t batch, int64_t hq, int64_t hkv, int64_t d,
                                       int64_t dv, DType dtype, const GatherAttentionConfig& config)
    : Operator(tables::ag_attention(), team, {maxM, batch, hq, hkv, d, dv}, dtype, &config), batch_(batch), hq_(hq),
      hkv_(hkv), d_(d), dv_(dv), config_(config) {
  checkHeads(table_, hq, hkv, d, dv, dtype);
  if (config.groups && hkv % config.groups)
    throw Error("`ag_attention`: `groups` is " + std::to_string(config.groups) + ", a divisor of `hkv`, " +
                std::to_string(hkv) + ", is needed");
  if (config.window && !config.causal)
    throw Error("`ag_attention`: `window` is " + std::to_string(config.window) + ", which goes with `causal` alone");
  if (config.varlen && batch != 1)
    throw Error("`ag_attention`: `batch` is " + std::to_string(batch) + ", with `varlen` it is 1");
  if (config.ring && config.groups > 1)
    throw Error("`ag_attention`: `groups` is " + std::to_string(config.groups) + ", with `ring` it is 1");
  if (config.varlen) firsts_ = memory_.localZeros({team.size() * (maxM + 1)}, DType::Int32, "first rows");
  if (team.size() == 1) return;
  // Blocks of keys reach behind a rank's last row, into rows that are read and not used.
  pitch_ = batch * shardRows(maxM, team.size()) + tileOf(team, config, d, dv, dtype).n;
  slots_ = config.ring ? 2 : team.size();
  keys_ = memory_.symmetricZeros({slots_ * pitch_, hkv * d}, dtype, "keys");
  values_ = memory_.symmetricZeros({slots_ * pitch_, hkv * dv}, dtype, "values");
  if (config.ring) {
    constexpr int64_t kOfState = 4;  // beside the values
    free_ = memory_.symmetricZeros({team.size()}, DType::Int64, "free");
    int64_t rows = batch * shardRows(maxM, team.size());
    state_ = memory_.localZeros({rows * hq * (headsOf(d, dv, dtype).ofV.both() + kOfState)}, DType::Float32,
                                "sums between launches");
  }
  channel_ = std::make_unique<Gathering>(team, memory_);
  nobodys_ = memory_.localZeros({hq * d}, dtype, "row of a rank without any");
}

AllGatherAttention::~AllGatherAttention() = default;

int64_t AllGatherAttention::groups() const {
  if (config_.groups || config_.ring || team_.size() == 1) return std::max(config_.groups, 1);
  int64_t groups = 1;
  while (hkv_ % (2 * groups) == 0 && groups < kMostGroups &&
         hkv_ / (2 * groups) * std::min(d_, dv_) * byteSize(dtype_) >= kLeastRowBytes)
    groups *= 2;
  return groups;
}

// Whether queries of the peer see some of these rows of this rank, which are counted over all sequences.
bool AllGatherAttention::isSeen(int64_t m, int peer, int64_t first, int64_t count) const {
  if (!config_.window || config_.varlen || batch_ > 1) return true;
  struct Span {
    int64_t place, first, end;  // in the sequence, and of the rank's rows
  };
  auto spans = [&](int rank) {
    auto low = [&](int r) {
      int64_t rows = rowsOfRank(m, team_.size(), r);
      return config_.inOrder ? rows : cdiv(rows, 2);
    };
    int64_t rows = rowsOfRank(m, team_.size(), rank), ofLow = 0, ofHigh = m;
    for (int r = 0; r < rank; ++r) ofLow += low(r);
    for (int r = 0; r <= rank; ++r) ofHigh -= rowsOfRank(m, team_.size(), r) - low(r);
    return std::array<Span, 2>{{{ofLow, 0, low(rank)}, {ofHigh, low(rank), rows}}};
  };
  for (const Span& keys : spans(team_.rank()))
    for (const Span& queries : spans(peer)) {
      int64_t key = keys.place + std::max(first, keys.first) - keys.first;
      int64_t behind = keys.place + std::min(first + count, keys.end) - keys.first;
      int64_t lastQuery = queries.place + queries.end - queries.first - 1;
      bool some = key < behind && queries.first < queries.end;
      if (some && key <= lastQuery && behind > queries.place - config_.window + 1) return true;
    }
  return false;
}

// For what the ring's third rank and those behind it bring, once this rank's launch that `stream` is told of has ended.
void AllGatherAttention::makeRoom(int distance, int stream) {
  int before = (team_.rank() - distance + team_.size()) % team_.size();
  Tensor free{free_.address + uint64_t(distance) * 8, {1}, DType::Int64};
  team_.signals({{team_.peer(free, before), 1}, {free, 1, Compare::Ge}, {free, 0}}, stream);
}

// A group of heads of this rank's keys and values, to the rank so far behind this one.
void AllGatherAttention::push(const Tensor& k, const Tensor& v, int64_t m, int distance, int64_t group, int64_t groups,
                              int64_t bands, int64_t bandRows) {
  int64_t rows = k.shape[0] * k.shape[1], heads = hkv_ / groups;
  int peer = (team_.rank() + distance) % team_.size();
  int64_t slot = config_.ring ? distance % slots_ : team_.rank();
  for (int64_t band = 0; band < bands; ++band) {
    int64_t first = band * bandRows, count = std::clamp<int64_t>(rows - first, 0, bandRows);
    auto send = [&](const Tensor& from, const Tensor& to, int64_t elements) {
      channel_->copy(peer, rowsOf(to, slot * pitch_ + first, count, hkv_ * elements),
                     rowsOf(from, first, count, hkv_ * elements), group * heads * elements, heads * elements);
    };
    if (count && isSeen(m, peer, first, count)) {
      send(k, keys_, d_);
      send(v, values_, dv_);
    }
    if (count || band + 1 == bands) channel_->tell(peer, group * bands + band + 1);
  }
}

void AllGatherAttention::checkSequences(int64_t m, int64_t sequences, int64_t longest) const {
  if (longest > m || (!config_.varlen && (sequences != 1 || longest != m)))
    throw Error("`ag_attention`: `sequences` is " + std::to_string(sequences) + " and `longest` " +
                std::to_string(longest) + ", with " + std::to_string(m) + " rows and " + (config_.varlen ? "" : "no ") +
                "`varlen`");
}

void AllGatherAttention::queue(const Call& call) {
  const auto& t = call.tensors;
  const Tensor &cu = t[3], &sinks = t[4], &lse = t[5];
  int ranks = team_.size(), stream = call.stream;
  int64_t m = call.numbers[0], sequences = call.numbers[1], longest = call.numbers[2];
  checkSequences(m, sequences, longest);
  int64_t own = rowsOfRank(m, ranks, team_.rank()), shard = shardRows(m, ranks);
  AttentionTile tile = tileOf(team_, config_, d_, dv_, dtype_);
  auto low = [&](int64_t rows) { return config_.inOrder ? rows : cdiv(rows, 2); };
  bool isWhole = !config_.varlen && own && low(own) % tile.m == 0 && own % tile.m == 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t rows = rowsOfRank(m, ranks, rank);
    isWhole &= rows % tile.n == 0 && (!config_.causal || low(rows) % tile.n == 0);
  }

  int64_t groups = this->groups(), bytes = batch_ * shard * (hkv_ / groups) * (d_ + dv_) * byteSize(dtype_);
  int64_t bands = config_.bands ? config_.bands : std::clamp<int64_t>(bytes / kBandBytes, 1, kMostBands);
  int64_t bandRows = cdiv(batch_ * shard, bands);
  int beside = channel_ ? channel_->begin(stream) : stream;
  Heads heads = headsOf(d_, dv_, dtype_);
  auto orNobodys = [&](const Tensor& x) { return own ? x : nobodys_; };
  Tensor q = orNobodys(t[0]), k = orNobodys(t[1]), v = orNobodys(t[2]), out = orNobodys(t[6]);
  const Tensor& none = v;
  if (config_.varlen)
    team_.launch(kernelOf(kFile, "firsts"), {.grid = {ranks, 1, 1}, .numWarps = 4, .stream = stream},
                 {cu, firsts_, sequences, m, int64_t(ranks)}, {{"BLOCK", kSequencesAtOnce}});
  auto orNone = [&](const Tensor& t, const Tensor& other) { return t.address ? t : other; };
  int64_t rows = config_.varlen ? std::min(shardRows(longest, ranks), own) : own;
  int64_t blocks = std::max<int64_t>(cdiv(low(rows), tile.m) + cdiv(rows - low(rows), tile.m), 1);
  LaunchConfig launch{// Heads first, so that the blocks that see least come last.
                      .grid = {int(hq_ / groups), int(blocks), int(groups * (config_.varlen ? sequences : batch_))},
                      .numWarps = tile.warps,
                      .stream = stream,
                      .numStages = tile.stages};
  for (int nth = 1, end = 0; end < ranks; nth = end) {
    end = config_.ring ? nth + 1 : ranks;
    team_.launch(kernelOf(kFile, "ag_attention"), launch,
                 {q,
                  k,
                  v,
                  orNone(keys_, k),
                  orNone(values_, v),
                  orNone(firsts_, none),
                  orNone(sinks, none),
                  orNone(lse, none),
                  out,
                  channel_ ? channel_->ready() : none,
                  orNone(state_, none),
                  scaleOf(config_, d_),
                  capOf(config_),
                  int64_t(team_.rank()),
                  int64_t(ranks),
                  m,
                  std::max<int64_t>(own, 1),
                  std::max<int64_t>(batch_ * own, 1),
                  pitch_,
                  ranks > 1 ? slots_ * pitch_ : batch_ * own,
                  bands,
                  bandRows,
                  config_.window,
                  int64_t(nth),
                  int64_t(end)},
                 {{"HQ", hq_},
                  {"HKV", hkv_},
                  {"GROUPS", groups},
                  {"D", d_},
                  {"V", dv_},
                  {"D0", heads.ofD.first},
                  {"D1", heads.ofD.second},
                  {"V0", heads.ofV.first},
                  {"V1", heads.ofV.second},
                  {"BLOCK_M", int64_t(tile.m)},
                  {"BLOCK_N", int64_t(tile.n)},
                  {"CAUSAL", config_.causal},
                  {"IN_ORDER", config_.inOrder},
                  {"WINDOW", config_.window != 0},
                  {"CAP", config_.softcap != 0},
                  {"SINKS", sinks.address != 0},
                  {"LSE", config_.withLse},
                  {"VARLEN", config_.varlen},
                  {"WHOLE", isWhole},
                  {"ARRIVES", ranks > 1},
                  {"RING", config_.ring},
                  {"BEGINS", nth == 1},
                  {"ENDS", end >= ranks}});
    // Behind the launch that gives the room, and before the next one, whose code may have to be loaded, for which a device may
    // finish what it runs: peers wait for the shard.
    int last = std::min(config_.ring ? nth + int(slots_) : ranks, ranks - 1);
    for (int64_t group = 0; group < groups; ++group)
      for (int distance = nth == 1 ? 1 : nth + int(slots_); distance <= last; ++distance) {
        if (config_.ring && distance > slots_) {
          team_.waitEvent(team_.recordEvent(stream), beside);
          makeRoom(distance, beside);
        }
        push(t[1], t[2], m, distance, group, groups, bands, bandRows);
      }
  }
  if (channel_) channel_->end();
}

}  // namespace tandem::ops
