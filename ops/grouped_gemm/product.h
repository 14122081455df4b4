// Launches of the kernel that multiplies the rows of each expert with that expert's matrix.
#pragma once
#include "ops/route/blocks.h"
#include "tandem/operator.h"

namespace tandem::ops {

// The product that is asked for; each kernel of this shape is compiled once.
struct GroupedWay {
  bool gated = false, gather = false, scatter = false, weigh = false, quantise = false;
  bool packed = false;  // the result is for sums of slots: see resultColumns
  // The experts are the rank's own: a token's slots may be other ranks', and behind the route's rows one block's are cleared.
  bool own = false;
};

// `count` of the columns of a result that is not gated (0: all), those that its tensor has. `first` is a multiple of 128.
struct GroupedColumns {
  int64_t first = 0, count = 0;
};

constexpr int kRegistersBeside = 32;

// Returns how many blocks of so many rows a call has whose tokens are dealt at random: experts have binomial numbers of them.
// Each of `ranks` ranks has so many experts, and this one the blocks of its own.
double expectedBlocks(int64_t m, int64_t topK, int64_t experts, int rows, int ranks = 1);

// Returns true if tiles of 128 columns take less than those of 256: they waste less in the last ones of a row and in the last round of all.
// `longer`: how many times as long they take otherwise.
bool areNarrowQuicker(double rowBlocks, int64_t columns, int programs, double longer);

class GroupedProduct {
 public:
  // `findings`: where the kernel tells of a route that is not this call's. `memory`: for pieces of tiles; null: few tiles
  // stay whole, too.
  GroupedProduct(const Table& table, Team& team, Memory* memory, int64_t maxM, int64_t n, int64_t k, int64_t experts,
                 int64_t topK, DType dtype, const GroupedConfig& config, const GroupedWay& way, const Tensor& findings);

  // Over ranks: rows of the other ranks' shards lie in `a`, those of this rank's in `own`; `ready` says which are there. Of 256 blocks
  // about `early`, whose rows are this rank's, come first.
  struct Awaited {
    Tensor own, ownScales, ready;
    int64_t shardRows, early;
  };
  // brought[i] counts the tiles of the i-th part, of `columns` columns. The launch behind may be `dependent`: a program of 8 warps
  // leaves room for one of four warps with kRegistersBeside and 32 KB.
  struct Counted {
    Tensor brought;
    int64_t columns;
  };
  struct More : GroupedMore {
    Tensor outScales;
  };
  // a: tokens or the route's rows; m: tokens.
  void launch(const Tensor& a, const Tensor& w, const Tensor& out, const Tensor& route, int64_t m, int stream,
              const More& more = {}, const Awaited* awaited = nullptr, const GroupedColumns& columns = {},
              const Counted* counted = nullptr) const;
  // Columns and rows of a tile of a call with m tokens.
  int64_t tileColumns(int64_t m) const { return tiles(m).blockN; }
  int64_t tileRows(int64_t m) const { return tiles(m).blockM; }
  // The columns of a packed result's rows.
  static int64_t resultColumns(int64_t n) { return (n + 31) / 32 * 32; }

 private:
  GroupedConfig tiles(int64_t m) const;
  double blocksOf(int64_t m, int rows) const;
  bool isMixable() const;
  bool isMixed(const GroupedConfig& config) const;
  int64_t leastSteps(const GroupedConfig& config, int64_t m) const;
  int64_t sumsOf(const GroupedConfig& config) const;  // fp32 numbers of all programs' pieces

  Team& team_;
  int64_t n_, k_, experts_, topK_;
  DType dtype_;
  GroupedConfig config_;
  GroupedWay way_;
  Tensor findings_;
  Tensor sums_, left_;  // of pieces of tiles
};

template <class Config>
std::vector<Option> groupedOptions() {
  std::vector<Option> out = dealOptions<Config>();
  for (Option o : {option<Config>("block_n", &GroupedConfig::blockN, "columns of a tile"),
                   option<Config>("block_k", &GroupedConfig::blockK, "inner size of a tile")}) {
    o.kind = Option::Kind::Tile;
    out.push_back(std::move(o));
  }
  out.push_back(option<Config>("num_warps", &GroupedConfig::numWarps, "of a program"));
  out.push_back(option<Config>("num_stages", &GroupedConfig::numStages, "how far loads run ahead"));
  return out;
}

template <class Config>
Option sharedOption() {
  return option<Config>("shared", &GroupedConfig::shared, "memory for a call with others of its kind, on one stream", 0,
                        1);
}

// The sizes of an operator that multiplies by experts, its types, and its tensors that may be left out.
std::vector<Size> groupedSizes();
const std::vector<DType>& groupedTypes();
constexpr const char* kGroupedTypes = "fp16, bf16, fp32 or fp8e4nv";
Operand biasOperand(const std::string& name, const std::string& columns, bool gated);
Operand scalesOperand(const std::string& name, std::vector<std::string> shape);

// The tables of operators that multiply by experts, without their options: of a first product, of x, which may be gated and
// quantised, and of a second one, of h, whose results are summed over a token's slots.
Table firstGroupedTable(const char* name, const char* className, const char* what, const std::string& rowsOfX,
                        const char* tokens);
Table secondGroupedTable(const char* name, const char* className, const char* what, const char* rowsOfOut,
                         const char* tokens);

template <class Config>
Option quantisedOption(bool Config::* member) {
  return option<Config>("quantised", member, "out is fp8e4nv, with a scale for 128 columns of a row", 0, 1);
}

}  // namespace tandem::ops
