// Host side of all-to-all: packets for small exchanges, copy engines for large ones. All ranks know all counts, so
// everyone knows where its rows go on every peer.
#include "ops/all_to_all/all_to_all.h"
#include "ops/collective.h"
#include "ops/peer_copies.h"
#include "ops/packets/packets.h"
#include <algorithm>

namespace tandem::ops {
namespace tables {

const Table& all_to_all() {
  using Kind = Number::Kind;
  static const Table table = [] {
    Table t{
        .name = "all_to_all",
        .className = "AllToAll",
        .what =
            "x holds the rows for rank 0, then those for rank 1, ...; out the rows of rank 0, then those of rank 1, ...; any type.",
        .sizes = {{"max_m", "no rank sends or gets more than cdiv(max_m, ranks) * ranks rows"},
                  {"columns", "of a row"}},
        .types = {},
        .typeWords = "any type",
        .tensors = {{"x", {"sent(counts)", "columns"}}, {"out", {"received(counts)", "columns"}, true}},
        .numbers =
            {{"symmetric_out", Kind::Flag, "`out` is the same symmetric tensor on every rank"},
             {"counts", Kind::Counts,
              "m, each rank sends rank r rows_of_rank(m, ranks, r) rows; or a list for each rank: how many it sends to each"}},
        .options = collectiveOptions<AllToAllConfig>(),
        .isFlat = true};
    t.options.push_back(
        option<AllToAllConfig>("packets_bytes", &AllToAllConfig::packetsBytes,
                               "up to so many, the most that a rank sends to one times the ranks, travel in packets", 0,
                               kNoLimit, AllToAllConfig().packetsBytes));
    t.make = maker<AllToAll, AllToAllConfig, 2>(all_to_all);
    return t;
  }();
  return table;
}

}  // namespace tables

namespace {

// Returns m where each rank deals m rows to all, whether the counts are m or a list for each rank; else -1.
int64_t dealtRows(const Counts& counts) {
  int64_t m = 0;
  for (int to = 0; to < counts.ranks; ++to) m += counts.rows(0, to);
  for (int from = 0; from < counts.ranks; ++from)
    for (int to = 0; to < counts.ranks; ++to)
      if (counts.rows(from, to) != rowsOfRank(m, counts.ranks, to)) return -1;
  return m;
}

}  // namespace

AllToAll::AllToAll(Team& team, int64_t maxM, int64_t columns, DType dtype, const AllToAllConfig& config)
    : Operator(tables::all_to_all(), team, {maxM, columns}, dtype, &config), columns_(columns),
      packetsBytes_(config.packetsBytes) {
  int64_t room = shardRows(maxM, team.size()) * team.size() * columns, bytes = room * byteSize(dtype);
  int64_t most = packetsBytes_ / team.size();
  if (most > 0) {
    int64_t atOnce = std::min({bytes, most, exchangeBytes(team) / team.size()});
    packets_ = std::make_unique<Packets>(team, memory_, cdiv(atOnce, kPacketBytes), config, Packets::Kind::Bits);
    places_ = memory_.localZeros({4, team.size()}, DType::Int64, "places");
  }
  if (bytes <= most) return;
  landing_ = memory_.symmetricEmpty({room}, dtype, "landing");
  copies_ = std::make_unique<PeerCopies>(team, memory_);
}

AllToAll::~AllToAll() = default;

int64_t AllToAll::sentBefore(const Counts& counts, int from, int to) const {
  int64_t rows = 0;
  for (int rank = 0; rank < to; ++rank) rows += counts.rows(from, rank);
  return rows;
}

int64_t AllToAll::receivedBefore(const Counts& counts, int from, int to) const {
  int64_t rows = 0;
  for (int rank = 0; rank < from; ++rank) rows += counts.rows(rank, to);
  return rows;
}

void AllToAll::queue(const Call& call) {
  Counts counts = countsOf(table_, call.numbers, team_.size());
  int64_t most = 0;
  for (int from = 0; from < team_.size(); ++from)
    for (int to = 0; to < team_.size(); ++to) most = std::max(most, counts.rows(from, to));
  if (packets_ && most * columns_ * byteSize(dtype_) <= packetsBytes_ / team_.size())
    runPackets(call.tensors[0], call.tensors[1], counts, most, call.stream);
  else
    runCopies(call.tensors[0], call.tensors[1], counts, call.stream, call.numbers[0] != 0);
}

void AllToAll::runPackets(const Tensor& x, const Tensor& out, const Counts& counts, int64_t mostRows, int stream) {
  Tensor source = asIntegers(x), dest = asIntegers(out);
  int ranks = team_.size(), rank = team_.rank();
  int64_t row = columns_ * byteSize(dtype_) / byteSize(source.dtype), first = row, own = row;
  int64_t m = dealtRows(counts);
  bool isEqual = m >= 0;
  if (isEqual) {
    first = shardRows(m, ranks) * row;
    own = counts.rows(0, rank) * row;
  } else {
    writePlaces(counts, row, stream);
  }
  int64_t all = isEqual ? m * row : 0;
  packets_->exchange(isEqual ? "equal" : "places", source, dest, {all, first, own}, 0, mostRows * row, stream, places_);
}

// Each launch writes the places of four peers, which are its arguments: a captured call replays them as they are. `kWord` is
// the kernel's `WORD`.
void AllToAll::writePlaces(const Counts& counts, int64_t row, int stream) {
  constexpr int64_t kWord = int64_t(1) << 62, kPeers = 4;
  int ranks = team_.size(), rank = team_.rank();
  for (int64_t first = 0; first < ranks; first += kPeers) {
    std::vector<Argument> arguments = {places_, first, int64_t(ranks)};
    for (int64_t peer = first; peer < first + kPeers; ++peer) {
      int known = int(std::min<int64_t>(peer, ranks - 1));
      for (int64_t rows : {sentBefore(counts, rank, known), counts.rows(rank, known),
                           receivedBefore(counts, known, rank), counts.rows(known, rank)})
        arguments.emplace_back(kWord + 2 * rows * row + 1);
    }
    team_.launch(kernelOf("ops/packets/exchange.py", "write_places"), {.numWarps = 1, .stream = stream}, arguments);
  }
}

void AllToAll::runCopies(const Tensor& x, const Tensor& out, const Counts& counts, int stream, bool symmetricOut) {
  int ranks = team_.size(), rank = team_.rank();
  const Tensor& landing = symmetricOut ? out : landing_;
  auto rowsOf = [&](const Tensor& t, int64_t first, int64_t count) {
    return elementsOf(t, first * columns_, count * columns_);
  };
  auto outgoing = [&](int peer) { return rowsOf(x, sentBefore(counts, rank, peer), counts.rows(rank, peer)); };
  int64_t ownFirst = receivedBefore(counts, rank, rank), ownCount = counts.rows(rank, rank);
  int beside = ranks > 1 ? copies_->begin(stream) : stream;
  if (ownCount) team_.copy(rowsOf(out, ownFirst, ownCount), outgoing(rank), stream);
  if (ranks == 1) return;
  for (int peer : copies_->peers())
    copies_->send(peer, rowsOf(landing, receivedBefore(counts, rank, peer), counts.rows(rank, peer)), outgoing(peer));
  copies_->receiveAll();
  int64_t behind = ownFirst + ownCount, all = receivedBefore(counts, ranks, rank);
  for (auto [first, count] : {std::pair(int64_t(0), ownFirst), {behind, all - behind}})
    if (count && !symmetricOut) team_.copy(rowsOf(out, first, count), rowsOf(landing, first, count), beside);
  copies_->end();
}

}  // namespace tandem::ops
