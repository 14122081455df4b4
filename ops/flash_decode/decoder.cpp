// Sizes of decoding, and its launches.
#include "ops/flash_decode/decoder.h"
#include "ops/attention/shape.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/packets/packets.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace tandem::ops {
namespace {

struct Tile {
  int keys, warps, stages, resident;
};

constexpr int64_t kCopied = 16;  // bytes, of which rows of the cache are multiples
constexpr int64_t kLeastDim = 32, kMostDim = 256;
constexpr int64_t kMostRows = 64, kLeastRows = 16, kFewRows = 16;
constexpr int64_t kLeastShared = 1, kMostShared = 8;  // rows that one who has a part puts together at once
// Bytes: of a part, and of all parts of an item for each warp that put them together alone, from which on all who have one do it.
constexpr int64_t kLargePart = 32 << 10, kLargeParts = 16 << 10;
constexpr int64_t kSlice = 32;            // elements of a row that one of them puts together
constexpr int64_t kMostAtOnce = 1024;     // sequences whose lengths are looked at together
constexpr uint64_t kBlockAlignment = 16;  // bytes, of what is copied as blocks
constexpr int64_t kLeastPlaces = 2, kCost = 2;
constexpr int kSimulatedPrograms = 6;
constexpr Tile kSimulated = {16, 1, 2, 1};

// So many keys that a slot of theirs and of their values has these bytes. `ofElements`: bytes of a key's elements, in its tiles.
int keysOf(int64_t slot, int64_t ofElements) {
  constexpr int64_t kLeast = 16, kMost = 64;
  return int(std::clamp(int64_t(std::bit_floor(uint64_t(slot / (2 * ofElements)))), kLeast, kMost));
}

// By the elements of a key: what keeps the memory busy with two programs on a multiprocessor, or one of latent keys. Where keys have few
// bytes, what a block takes beside its bytes takes longest, and three programs of few rows of queries are at more blocks at once. Two warps
// with 16 rows each exchange nothing, so four programs have room. wgmma reads fp8 that threads have made fp16 of, so that two programs
// that take turns are worth more than large blocks. `wide`: elements of a key's tiles.
Tile tileFor(const DecodeSizes& sizes, int64_t page, int64_t wide, bool isFp8, int64_t rows) {
  constexpr int64_t kSlot = 16 << 10, kManyBytes = 128;
  int64_t dim = sizes.dim, bytes = wide * (isFp8 ? 1 : 2);
  if (dim > kMostDim) {
    // Where pages have fewer keys, blocks of a page come by TMA; few queries of small ones are multiplied sooner by threads that copy more.
    constexpr int64_t kKeys = 64, kSlots = 2, kLeastKeys = 16;
    bool isOfPage = !isFp8 && page < kKeys && page >= (rows == kMostRows ? kLeastKeys : 2 * kLeastKeys);
    int64_t keys = isOfPage ? page : kKeys;
    return {int(keys), 8, int(kSlots * kKeys / keys), 1};
  }
  if (rows == 2 * kLeastRows && bytes >= kManyBytes && !sizes.turned) return {keysOf(kSlot, bytes), 2, 2, 4};
  if (isFp8 && rows == kMostRows && !sizes.turned && (dim <= 128 || wide > 192)) return {64, 4, 3, dim > 64 ? 2 : 3};
  if (dim > 128) return {32, 4, 3, 2};
  if (dim > 64 && isFp8) return rows == kLeastRows ? Tile{64, 4, 3, 3} : Tile{128, 4, 2, 2};
  if (dim > 64) return {64, 4, 2, 2};
  if (isFp8) return {128, 4, 3, 2};
  return {64, 4, 4, 3};
}

// A warp of its own for an item of few rows, which waits for no other. It is the quicker one where keys have few bytes, and leaves four
// times as many parts.
std::optional<Tile> tileAlone(const DecodeSizes& sizes, int64_t wide, bool isFp8, int64_t rows) {
  constexpr int64_t kMostBytes = 128, kMostOfFp8 = 96, kSlot = 8 << 10;
  int64_t bytes = wide * (isFp8 ? 1 : 2);
  if (sizes.turned || rows != kLeastRows || bytes > (isFp8 ? kMostOfFp8 : kMostBytes)) return std::nullopt;
  return Tile{keysOf(kSlot, bytes), 1, 2, 8};
}

// True if keys can come as blocks by TMA, of which wgmma reads them: wide latent keys, whatever their queries are. Of few queries wgmma
// multiplies rows that nobody needs, and threads that multiplied no more than these would take longer.
bool readsBlocks(const DecodeSizes& sizes, const CachePages& cache, const DecodeConfig& config, int64_t keys) {
  return sizes.turned && !config.fp8Cache && cache.page >= keys;
}

int64_t padded(int64_t n) { return int64_t(std::bit_ceil(uint64_t(n))); }

// The tiles that a head comes in; halves of what comes as blocks.
Parts tilesOf(const DecodeSizes& sizes, DType dtype, bool inHalves) {
  return inHalves ? Parts{sizes.dim / 2, sizes.dim / 2} : headsOf(sizes.dim, sizes.dim, dtype).ofD;
}

// Returns how many programs a multiprocessor has room for, by shared memory and registers.
int64_t roomFor(const Tile& tile, const DecodeSizes& sizes, int64_t page, int64_t wide, bool isFp8, int64_t rows) {
  constexpr int64_t kShared = 228 << 10, kReserved = 1 << 10;  // bytes
  // Of what warps exchange for a row of queries, and threads of one warp for an element of its results; of an element of keys that full
  // tiles of queries read as fp16, and of values.
  constexpr int64_t kOfRow = 256, kOfResult = 2, kOfElement = 6;
  constexpr int64_t kThreads = 65536 / 255, kThreadsOfFew = 65536 / 168;  // by the registers of each
  int64_t threads = tile.warps * 32;
  // Warps with rows of their own keep all sums of these; full tiles are wgmma's.
  bool haveOwnRows = rows < kMostRows && tile.warps * kLeastRows == rows;
  if (sizes.turned) {  // with queries and weights for wgmma, which a larger tile leaves no room for twice
    Tile usual = tileFor(sizes, page, wide, isFp8, rows);
    bool isLarger = tile.keys > usual.keys || tile.warps > usual.warps || tile.stages > usual.stages;
    return isLarger || (rows == kMostRows && sizes.turned > 64) ? 1 : std::min(usual.resident, 2);
  }
  int64_t slots = tile.stages * tile.keys * 2 * wide * (isFp8 ? 1 : 2);
  int64_t exchanged = rows * (haveOwnRows ? wide * kOfResult : kOfRow) +
                      (isFp8 && rows == kMostRows ? tile.keys * wide * kOfElement : 0);
  bool isSmallTile = rows == kMostRows && tile.keys <= 64;
  int64_t mostOfFew = !isFp8 || isSmallTile ? 64 : rows == kLeastRows ? 128 : 0;
  bool areFew = !haveOwnRows && wide <= mostOfFew;
  int64_t ofThreads = (areFew ? kThreadsOfFew : kThreads) / threads;
  return std::max<int64_t>(std::min(ofThreads, kShared / (slots + exchanged + kReserved)), 1);
}

void fill(int& value, int64_t chosen) {
  if (!value) value = int(chosen);
}

}  // namespace

std::vector<Option> decodeOptions() {
  using Config = DecodeConfig;
  std::vector<Option> out = {
      option<Config>("programs", &Config::programs, "that share the keys; the same number gives the same bits", 0),
      option<Config>("block_n", &Config::blockN, "keys at once", 0),
      option<Config>("num_warps", &Config::numWarps, "of a program", 0),
      option<Config>("num_stages", &Config::numStages, "blocks of keys under way", 0),
      option<Config>("window", &Config::window, "keys that a query sees, itself among them", 0),
      realOption<Config>("scale", &Config::scale, "of scores; else 1 / sqrt(elements of a key)"),
      realOption<Config>("soft_cap", &Config::softCap, "scores are soft_cap * tanh(score / soft_cap)"),
      option<Config>("over_ranks", &Config::overRanks, "each rank has a part of every sequence's keys", 0, 1),
      option<Config>("fp8_cache", &Config::fp8Cache, "keys and values are fp8e4nv, with a scale a head", 0, 1),
      option<Config>("shared", &Config::shared,
                     "memory for the time of a call is that of all operators of this kind that say so", 0, 1)};
  out[1].kind = Option::Kind::Tile;
  return out;
}

std::vector<Operand> pageOperands() {
  return {{.name = "table", .shape = {"m", "width"}, .always = DType::Int32},
          {.name = "lengths", .shape = {"m"}, .always = DType::Int32}};
}

std::vector<Operand> moreOperands(const std::string& kvHeads) {
  return {{.name = "sinks", .shape = {"heads"}, .always = DType::Float32, .givenBy = "any"},
          {.name = "ends", .shape = {"m"}, .always = DType::Int32, .givenBy = "any"},
          {.name = "scales", .shape = {"2", kvHeads}, .always = DType::Float32, .givenBy = "fp8_cache"},
          {.name = "status", .shape = {"2"}, .always = DType::Int32, .givenBy = "any", .isInPlace = true}};
}

Decoder::Decoder(const Table& table, Team& team, Memory& memory, const DecodeSizes& sizes, const CachePages& cache,
                 DType dtype, const DecodeConfig& config)
    : table_(table), team_(team), sizes_(sizes), cache_(cache), config_(config) {
  auto fail = [&](const std::string& what) { throw Error("`" + table_.name + "`: " + what); };
  auto demand = [&](const char* name, int64_t value, std::initializer_list<int64_t> possible) {
    if (std::find(possible.begin(), possible.end(), value) != possible.end()) return;
    std::string all;
    for (int64_t p : possible)
      all += (all.empty() ? "" : p == *(possible.end() - 1) ? " or " : ", ") + std::to_string(p);
    fail("`" + std::string(name) + "` is " + std::to_string(value) + ", " + all + " is needed");
  };
  if (sizes.heads % sizes.kvHeads)
    fail("`heads` is " + std::to_string(sizes.heads) + ", a multiple of `kv_heads`, " + std::to_string(sizes.kvHeads) +
         ", is needed");
  if (sizes.qLen > 8) fail("`q_len` is " + std::to_string(sizes.qLen) + ", 1 to 8 are possible");
  if (!std::has_single_bit(uint64_t(cache.page)))
    fail("`page` is " + std::to_string(cache.page) + ", a power of two is needed");
  if (sizes.turned) {
    demand("latent", sizes.dim, {64, 128, 256, 512});
    demand("turned", sizes.turned, {32, 64, 128});
  } else {
    int64_t step = kCopied / (config.fp8Cache ? 1 : byteSize(dtype));
    if (sizes.dim % step || sizes.dim < kLeastDim || sizes.dim > kMostDim)
      fail("`head_dim` is " + std::to_string(sizes.dim) + ", a multiple of " + std::to_string(step) + " from " +
           std::to_string(kLeastDim) + " to " + std::to_string(kMostDim) + " is needed");
  }
  bool simulated = team.target() == "sim";
  int64_t queries = sizes.qLen * (sizes.heads / sizes.kvHeads);
  rows_ = std::clamp(padded(queries), kLeastRows, kMostRows);
  Parts tiles = tilesOf(sizes, dtype, false);
  bool hasWgmma = simulated || team.target().starts_with("sm_90");
  int64_t page = hasWgmma ? cache.page : std::numeric_limits<int64_t>::max();  // of which blocks may be
  Tile tile = simulated ? kSimulated : tileFor(sizes, page, tiles.both(), config.fp8Cache, rows_);
  bool isOwn = config.blockN || config.numWarps || config.numStages || config.programs;  // the caller's choice
  fill(config_.blockN, tile.keys);
  bool areWide = hasWgmma && sizes.dim > kMostDim;  // 32 rows of their sums do not fit in threads' registers
  if (areWide && (readsBlocks(sizes, cache, config_, config_.blockN) || (rows_ > kLeastRows && !config.fp8Cache)))
    rows_ = kMostRows;
  fill(config_.numWarps, tile.warps);
  fill(config_.numStages, tile.stages);
  Tile own = {config_.blockN, config_.numWarps, config_.numStages, tile.resident};
  int64_t room = simulated ? 1 : roomFor(own, sizes, page, tiles.both(), config.fp8Cache, rows_);
  int64_t most = team.residentPrograms() * room;
  fill(config_.programs,
       simulated ? kSimulatedPrograms : std::min(most, int64_t(team.residentPrograms()) * tile.resident));
  config_.programs = int(std::min<int64_t>(config_.programs, most));
  if (config_.scale == 0) config_.scale = 1 / std::sqrt(double(sizes.dim + sizes.turned));
  config_.overRanks &= team.size() > 1;

  memory.share(config.shared);
  usual_ = {config_.blockN, config_.numWarps, config_.numStages, config_.programs};
  std::optional<Tile> alone = tileAlone(sizes, tiles.both(), config.fp8Cache, rows_);
  if (alone && !isOwn && !simulated && !config_.overRanks) {
    int64_t together =
        std::min<int64_t>(roomFor(*alone, sizes, page, tiles.both(), config.fp8Cache, rows_), alone->resident);
    alone_ = {alone->keys, alone->warps, alone->stages, int(team.residentPrograms() * together)};
  }
  int64_t programs = std::max(usual_.programs, alone_.programs),
          results = config_.overRanks ? programs * 2 * rows_ * (sizes.dim + 2) : 1;
  parts_ = memory.localScratch({programs * 2 * rows_ * tiles.both()}, dtype, "parts");
  stats_ = memory.localScratch({programs * 4 * rows_}, DType::Float32, "sums of parts");
  results_ = memory.localScratch({results}, DType::Float32, "results");
  counts_ = memory.localZeros({2 * programs}, DType::Int32, "parts that are there");
  epochs_ = memory.localZeros({programs}, DType::Int64, "epochs");
  slots_ = epochs_;
  if (config_.overRanks) {
    int64_t packets = sizes.maxM * sizes.qLen * sizes.heads * (sizes.dim / 2 + 1);
    slots_ = memory.symmetricZeros({2, team.size(), packets, 2}, DType::Int64, "packets");
  }
}

// Items of a sequence at which programs are side by side: those of the same keys, or of all heads where a head's row is less than a line,
// so that what comes from memory for one has a part of another's. Programs that are left over have nothing to do.
int64_t Decoder::sideOf(const Form& form) const {
  constexpr int64_t kLine = 128, kMostLeft = 16;
  int64_t tiles = cdiv(sizes_.qLen * (sizes_.heads / sizes_.kvHeads), rows_), all = tiles * sizes_.kvHeads;
  int64_t bytes = (sizes_.dim + sizes_.turned) * (config_.fp8Cache ? 1 : byteSize(parts_.dtype));
  bool areShort = bytes < kLine && bytes * sizes_.kvHeads >= 2 * kLine;
  if (areShort && form.programs % all * kMostLeft <= form.programs) return all;
  return form.programs >= tiles ? tiles : 1;
}

// Warps alone have calls of many items, each of which then has few parts.
const Decoder::Form& Decoder::formOf(int64_t m) const {
  constexpr int64_t kMostParts = 16;
  int64_t items = m * sizes_.kvHeads * cdiv(sizes_.qLen * (sizes_.heads / sizes_.kvHeads), rows_);
  return alone_.programs && items * kMostParts >= alone_.programs ? alone_ : usual_;
}

void Decoder::launch(const Given& given, const DecodeMore& more, int64_t m, int stream) const {
  int64_t queries = sizes_.qLen * (sizes_.heads / sizes_.kvHeads), ranks = config_.overRanks ? team_.size() : 1;
  const Form& form = formOf(m);
  int64_t together = std::min(padded(m), kMostAtOnce);
  // Rows of an item that are put together at once: with parts of many, so few that each who has one gets some.
  int64_t items = m * sizes_.kvHeads * cdiv(queries, rows_), parts = cdiv(form.programs, items);
  int64_t ofRow = tilesOf(sizes_, parts_.dtype, false).both() * byteSize(parts_.dtype);
  bool isTogether = rows_ * ofRow >= kLargePart || parts * std::min(rows_, queries) * ofRow >= kLargeParts * form.warps;
  int64_t few =
      isTogether ? std::clamp(padded(cdiv(rows_, parts)), kLeastShared, kMostShared) : std::min(rows_, kFewRows);
  bool copies = readsBlocks(sizes_, cache_, config_, form.keys);
  for (const Tensor* t : {&given.q, &given.qTurned, &given.keys}) copies &= t->address % kBlockAlignment == 0;
  Parts tiles = tilesOf(sizes_, parts_.dtype, copies);
  bool hasSlices = isTogether && ranks == 1 && tiles.first == sizes_.dim;
  const Tensor& none = given.lengths;
  auto orNone = [&](const Tensor& t) { return t.address ? t : none; };
  team_.launch(kernelOf("ops/flash_decode/flash_decode.py", "flash_decode"),
               {.grid = {form.programs, 1, 1},
                .numWarps = form.warps,
                .stream = stream,
                .numStages = form.stages,
                .cooperative = isTogether || ranks > 1,
                .dependent = true},
               {given.q,
                given.qTurned,
                given.keys,
                given.values,
                given.table,
                given.lengths,
                orNone(more.ends),
                orNone(more.sinks),
                orNone(more.scales),
                orNone(more.status),
                given.out,
                parts_,
                stats_,
                counts_,
                results_,
                slots_,
                epochs_,
                m,
                cache_.width,
                cache_.pages,
                config_.window,
                slots_.size() / (2 * ranks),
                config_.scale,
                config_.softCap},
               {{"Q_LEN", sizes_.qLen},
                {"HEADS", sizes_.heads},
                {"KV_HEADS", sizes_.kvHeads},
                {"DIM", sizes_.dim},
                {"D0", tiles.first},
                {"D1", tiles.second},
                {"TURNED", sizes_.turned},
                {"PAGE", cache_.page},
                {"ROWS", rows_},
                {"FEW_ROWS", std::min(padded(queries), few)},
                {"SLICE", hasSlices ? kSlice : tiles.first},
                {"BLOCK", int64_t(form.keys)},
                {"PROGRAMS", int64_t(form.programs)},
                {"SEQS", together},
                {"MANY", m > together},
                {"LEAST", kLeastPlaces},
                {"COST", kCost},
                {"WINDOW", config_.window > 0},
                {"CAPPED", config_.softCap > 0},
                {"SINKS", more.sinks.address != 0},
                {"SCALED", config_.fp8Cache},
                {"TOLD", more.status.address != 0},
                {"TOGETHER", isTogether},
                {"BLOCKS", copies},
                {"SIDE", sideOf(form)},
                {"RANKS", ranks},
                {"POLLS", pollsOn(team_)}});
}

}  // namespace tandem::ops
