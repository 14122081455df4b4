// An operator's table lists the sizes that it is made for, the tensors and numbers of a call, and the options. From it
// come the checks, the reading and writing of options as JSON, the C ABI and its header, the names of tuned files, and
// the classes and functions of Python and PyTorch.
#pragma once
#include "tandem/operator.h"
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace tandem::ops {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// A member of the operator's config, which a caller may set instead of leaving the choice to the operator.
struct Option {
  enum class Kind { Number, Tile, Flag, Word, Lists, Real };  // Tile: a number that is a power of two from 16
  std::string name, what;
  Kind kind = Kind::Number;
  int64_t least = 1, most = kNoLimit;                   // of a number that is given
  int64_t unset = 0;                                    // leaves the choice to the operator
  std::vector<std::string> words = {};                  // of a Word: what its numbers, from 0, are called
  std::function<int64_t(const void* config)> get = {};  // of all but Lists and Real
  std::function<void(void* config, int64_t value)> set = {};
  std::function<std::vector<std::vector<int>>*(void* config)> lists = {};
  std::function<double*(void* config)> real = {};  // above 0; 0 leaves the choice to the operator
  bool isTaken = true;                             // false: the config has the member for other operators' sake
};

template <class Config, class Owner, class Value>
Option option(std::string name, Value Owner::* member, std::string what, int64_t least = 1, int64_t most = kNoLimit,
              int64_t unset = 0) {
  Option out{.name = std::move(name), .what = std::move(what), .least = least, .most = most, .unset = unset};
  out.get = [member](const void* c) { return int64_t(static_cast<const Config*>(c)->*member); };
  out.set = [member](void* c, int64_t value) {
    constexpr int64_t kMostInt = int64_t(1) << 30;
    static_cast<Config*>(c)->*member = Value(sizeof(Value) < 8 ? std::min(value, kMostInt) : value);
  };
  if constexpr (std::is_same_v<Value, bool>) out.kind = Option::Kind::Flag;
  return out;
}

template <class Config, class Owner>
Option realOption(std::string name, double Owner::* member, std::string what) {
  Option out{.name = std::move(name), .what = std::move(what), .kind = Option::Kind::Real};
  out.real = [member](void* c) { return &(static_cast<Config*>(c)->*member); };
  return out;
}

// A size that the operator is made for: at least 1.
struct Size {
  std::string name, what;
  bool isOfRank = false;  // the ranks need not agree
};

// A tensor of a call, contiguous. A dimension is a sum of products, as `64 + 2*m*n`, of integers, the names of sizes, of
// numbers of the call, of flags (1 where set), of options that are numbers and `ranks`; `own(m)`, this rank's rows of m;
// `shard(m)`, the most of a rank; `scales(k)`, of k elements; `own_hq` or `own_hkv`, this rank's heads (ops/heads.h);
// `sent(counts)` or `received(counts)`, the rows that this rank sends or gets. One dimension `elements`: any shape with this many elements.
struct Operand {
  std::string name;
  std::vector<std::string> shape;
  bool isOutput = false;
  std::string transposedBy = "";     // the flag with which the two dimensions are swapped
  std::string typeBy = "";           // the number that says the type: fp16, bf16 or fp32; else it is the operator's
  std::optional<DType> always = {};  // the type, whatever the operator's
  std::optional<DType> ofFp8 = {};   // the type where the operator's is one of fp8
  std::string quantisedBy = "";      // the flag with which the type is fp8e4nv
  // A tensor that is there with this flag alone; `fp8`: of an operator of such a type; `any`: where a caller gives it. What
  // is not there has no address.
  std::string givenBy = "";
  bool isInPlace = false;  // an input that the call writes to
};

// Elements of an inner dimension that share a scale.
constexpr int64_t kScaled = 128;

// A number of a call.
struct Number {
  enum class Kind {
    Rows,      // 1 to the operator's first size
    Elements,  // the same, of the tensors whose shape is `elements`
    OwnRows,   // 0 to the operator's first size, of this rank alone: the ranks need not agree
    Rank,      // of the team
    Flag,
    Type,  // of the output, a number of tandem::DType; the ranks need not agree
    // the last one, of any length: m, of which every rank sends each rank r its rows_of_rank(m), or for each rank what
    // it
    Counts
    // sends to each
  };
  std::string name;
  Kind kind;
  std::string what = "";
};

// A linear layer of PyTorch whose weight is shared by the ranks, of which the operator is one form.
struct LinearLayer {
  std::string className;
  bool splitsOutput = false;  // each rank has its part of the output features, else of the input features
  bool isSequenceParallel = false;
  std::string what;  // with this form
};

struct Table {
  std::string name, className, what;
  std::vector<Size> sizes;
  std::vector<DType> types;  // empty: any
  std::string typeWords;     // `types` in words
  std::vector<Operand> tensors;
  std::vector<Number> numbers;
  std::vector<Option> options;
  bool isFlat = false;   // C++ callers may give a tensor any shape of as many elements
  bool isLocal = false;  // of one rank alone: the others need neither make it nor call it alike
  bool tunes = false;
  LinearLayer linear = {};                                 // of an operator that multiplies
  std::function<void(const void* config)> checkMore = {};  // what concerns several options
  std::function<std::unique_ptr<Operator>(Team&, const std::vector<int64_t>& sizes, DType,
                                          const nlohmann::json& config)>
      make = {};
  // Returns the model's times of all ways to carry out a request; see td_op_choices.
  std::function<nlohmann::json(const nlohmann::json& request)> choices = {};

  const Option* find(const std::string& option) const;
  void checkTypes(DType dtype) const;
  // Throws Error unless every option that is given may be.
  void checkOptions(const void* config) const;
  // Sets the options that the JSON object has. Throws Error on a name or type that is no option's.
  void read(const nlohmann::json& given, void* config) const;
  // The options that are not left to the operator.
  nlohmann::json write(const void* config) const;
  // Those in one line, for messages and names of files: "-block_m64-way_two_shot".
  std::string key(const void* config) const;
  // Returns the table as Python and the generator of the C header read it.
  nlohmann::json asJson() const;
};

template <class Config>
Config configOf(const Table& table, const nlohmann::json& given) {
  Config config;
  table.read(given, &config);
  return config;
}

// Throws Error unless an operator can be made so.
void checkMade(const Table& table, const std::vector<int64_t>& sizes, DType dtype, const void* config);
// The element type of a number. Throws Error where there is none.
DType checkedDType(int number);

// Returns the `make` of a table, for a class whose constructor takes a team, `count` sizes, a type and a config.
template <class Op, class Config, int count>
auto maker(const Table& (*table)()) {
  return [table](Team& team, const std::vector<int64_t>& s, DType dtype, const nlohmann::json& given) {
    Config config = configOf<Config>(table(), given);
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return std::make_unique<Op>(team, s[i]..., dtype, config);
    }(std::make_index_sequence<count>());
  };
}

// The number of rows that each rank sends to each, from a call's last number.
struct Counts {
  std::span<const int64_t> all;
  int ranks;
  int64_t rows(int from, int to) const;
};
Counts countsOf(const Table& table, const std::vector<int64_t>& numbers, int ranks);

// Returns the tables of all operators, in the order of operators.txt. The folder ops/x defines `tables::x()`.
const std::vector<const Table*>& allTables();
// Throws Error where there is none of that name.
const Table& tableOf(const std::string& name);

const std::vector<DType>& summedTypes();      // fp16, bf16 and fp32
const std::vector<DType>& multipliedTypes();  // and both of fp8
bool isFp8(DType dtype);

}  // namespace tandem::ops
