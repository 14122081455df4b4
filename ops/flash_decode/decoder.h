// Launches of decoding over pages, and what its operators' tables share.
#pragma once
#include "ops/table.h"
#include "tandem/cache_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

// `turned`: elements of a key behind those that are its value, too; else values are tensors of their own.
struct DecodeSizes {
  int64_t maxM, qLen, heads, kvHeads, dim, turned;
};

class Decoder {
 public:
  Decoder(const Table& table, Team& team, Memory& memory, const DecodeSizes& sizes, const CachePages& cache,
          DType dtype, const DecodeConfig& config);
  struct Given {
    Tensor q, qTurned, keys, values, table, lengths, out;
  };
  void launch(const Given& given, const DecodeMore& more, int64_t m, int stream) const;

 private:
  const Table& table_;
  Team& team_;
  DecodeSizes sizes_;
  CachePages cache_;
  DecodeConfig config_;
  // How a call is done: keys of a block, warps, slots, and programs, none if no call is.
  struct Form {
    int keys, warps, stages, programs;
  };
  const Form& formOf(int64_t m) const;
  int64_t sideOf(const Form& form) const;

  int64_t rows_;  // queries of an item, padded
  Form usual_, alone_ = {};
  Tensor parts_, stats_, counts_, results_, slots_, epochs_;
};

std::vector<Option> decodeOptions();
// The table of pages and the lengths; and what only some calls have.
std::vector<Operand> pageOperands();
std::vector<Operand> moreOperands(const std::string& kvHeads);

}  // namespace tandem::ops
