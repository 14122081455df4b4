// The tables of the operators that multiply share these options.
#pragma once
#include "ops/table.h"
#include "tandem/gemm_config.h"
#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace tandem::ops {

// The most bands of rows in which a shard travels, and the most pieces into which a tile is cut along K.
constexpr int kMostBands = 8, kMostPieces = 8;
// The most copies in which parts travel to a peer.
constexpr int kMostChunks = 64;
// The width of a tile of AllGather + GEMM is a sum of at most this many powers of two.
constexpr int kWidthParts = 3;

// Returns the options of GemmConfig. Of the options that not every operator has, it marks `taken` as the operator's.
template <class Config>
std::vector<Option> gemmOptions(std::initializer_list<std::string_view> taken) {
  constexpr auto tile = [](Option o) {
    o.kind = Option::Kind::Tile;
    return o;
  };
  Option copies{.name = "copies", .what = "how many slices each copy of a band takes", .kind = Option::Kind::Lists};
  copies.lists = [](void* c) { return &static_cast<Config*>(c)->copies; };
  std::vector<Option> out = {tile(option<Config>("block_m", &GemmConfig::blockM, "rows of a tile")),
                             tile(option<Config>("block_n", &GemmConfig::blockN, "columns of a tile")),
                             tile(option<Config>("block_k", &GemmConfig::blockK, "inner size of a tile")),
                             option<Config>("programs", &GemmConfig::programs, "at most"),
                             option<Config>("num_warps", &GemmConfig::numWarps, "of a program"),
                             option<Config>("num_stages", &GemmConfig::numStages, "how far loads run ahead"),
                             option<Config>("b_transposed", &GemmConfig::bTransposed, "b is [n, k]", 0, 1)};
  std::vector<Option> some = {
      option<Config>("group", &GemmConfig::group, "row blocks whose tiles follow one another"),
      option<Config>("bands", &GemmConfig::bands, "of a shard's rows, one after the other", 1, kMostBands),
      option<Config>("slices", &GemmConfig::slices, "of k, in which a band travels"),
      copies,
      option<Config>("pieces", &GemmConfig::pieces, "of k, into which tiles left over are cut", 1, kMostPieces),
      option<Config>("chunks", &GemmConfig::chunks, "in how many copies parts travel to a peer; 0: programs store them",
                     0, kMostChunks, -1),
      option<Config>("few_rows", &GemmConfig::fewRows, "1: rows are gathered first, or summed at the end; 0: not", 0, 1,
                     -1),
      option<Config>("library", &GemmConfig::library, "1: the vendor's library multiplies, beside a collective; 0: not",
                     0, 1, -1),
      option<Config>("scattered", &GemmConfig::scattered,
                     "1: as a reduce-scatter and a gather of the sums, for many rows; 0: not", 0, 1, -1),
      option<Config>("one_shot_bytes", &GemmConfig::oneShotBytes,
                     "results up to so many are summed by every rank for itself", 0, kNoLimit, -1),
      option<Config>("packets_bytes", &GemmConfig::packetsBytes, "and up to so many travel in packets", 0, kNoLimit,
                     -1)};
  for (Option& o : some) {
    o.isTaken = std::find(taken.begin(), taken.end(), o.name) != taken.end();
    out.push_back(std::move(o));
  }
  return out;
}

// The rest of the table of an operator that multiplies; `a` and `out` have these rows.
Table gemmTable(const char* name, const char* className, const char* what, const char* rowsOfA, const char* rowsOfOut);

struct TunedGemm;
// For td_op_tune.
std::string textOf(const Table& table, const TunedGemm& tuned);
// For td_op_choices, of an operator with a model.
struct GemmModel;
nlohmann::json gemmChoices(const Table& table, const GemmModel& model, const nlohmann::json& request);

}  // namespace tandem::ops
