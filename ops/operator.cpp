// A call's arguments and an operator's sizes against its table. The only checks of them in C++.
#include "tandem/operator.h"
#include "ops/cdiv.h"
#include "ops/heads.h"
#include "ops/findings.h"
#include "ops/table.h"
#include "ops/workspace.h"
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace tandem::ops {
namespace {

using Kind = Number::Kind;

// The longest text that Team::openOperator takes.
constexpr size_t kMostText = 150;
// The most numbers that Team::callOperator takes.
constexpr size_t kMostTold = 256;

[[noreturn]] void fail(const Table& table, const std::string& what) { throw Error("`" + table.name + "`: " + what); }

std::string textOf(const std::vector<int64_t>& shape) {
  std::string out;
  for (int64_t d : shape) out += (out.empty() ? "" : ", ") + std::to_string(d);
  return "[" + out + "]";
}

// Cuts `text` at each `separator`, without spaces.
std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> out = {""};
  for (char c : text)
    if (c == separator)
      out.emplace_back();
    else if (c != ' ')
      out.back() += c;
  return out;
}

// The values of the names in a table's shapes.
struct Values {
  const Table& table;
  const std::vector<int64_t>& sizes;
  const std::vector<int64_t>& numbers;
  const std::map<std::string, int64_t>& flags;
  int ranks, rank;

  int64_t named(const std::string& name) const {
    if (name == "ranks") return ranks;
    if (name == "own_hq") return headsOfRank(named("hq"), named("hkv"), ranks, rank).count;
    if (name == "own_hkv") return headsOfRank(named("hq"), named("hkv"), ranks, rank).keyCount;
    if (name[0] == '-' || std::isdigit(static_cast<unsigned char>(name[0]))) return std::stoll(name);
    for (size_t i = 0; i < table.sizes.size(); ++i)
      if (table.sizes[i].name == name) return sizes[i];
    for (size_t i = 0; i < table.numbers.size(); ++i)
      if (table.numbers[i].name == name) return numbers[i];
    if (auto flag = flags.find(name); flag != flags.end()) return flag->second;
    fail(table, "its table has no `" + name + "`");
  }
  int64_t factor(const std::string& text) const {
    auto inside = [&](std::string_view function) {
      return text.starts_with(function) ? text.substr(function.size(), text.size() - function.size() - 1) : "";
    };
    if (auto m = inside("own("); !m.empty()) return rowsOfRank(named(m), ranks, rank);
    if (auto m = inside("shard("); !m.empty()) return shardRows(named(m), ranks);
    if (auto k = inside("scales("); !k.empty()) return cdiv(named(k), kScaled);
    bool sends = !inside("sent(").empty();
    if (!sends && inside("received(").empty()) return named(text);
    Counts counts = countsOf(table, numbers, ranks);
    int64_t rows = 0;
    for (int peer = 0; peer < ranks; ++peer) rows += sends ? counts.rows(rank, peer) : counts.rows(peer, rank);
    return rows;
  }
  int64_t dimension(const std::string& text) const {
    int64_t sum = 0;
    for (const std::string& term : parts(text, '+')) {
      int64_t product = 1;
      for (const std::string& f : parts(term, '*')) product *= factor(f);
      sum += product;
    }
    return sum;
  }
  std::vector<int64_t> shape(const Operand& argument, bool transposed) const {
    std::vector<int64_t> out;
    for (const std::string& d : argument.shape) out.push_back(dimension(d));
    if (transposed) std::reverse(out.begin(), out.end());
    return out;
  }
};

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

DType typeOf(const Table& table, int64_t number) {
  for (DType t : summedTypes())
    if (int64_t(t) == number) return t;
  bool isType = number >= 0 && number <= int64_t(DType::Float64);
  fail(table, "`out` is " + (isType ? std::string(tandem::name(DType(number))) : "of type " + std::to_string(number)) +
                  ", fp16, bf16 or fp32 is needed");
}

DType typeOf(const Table& table, const Operand& argument, const std::vector<int64_t>& numbers, DType dtype,
             const std::map<std::string, int64_t>& flags) {
  if (argument.always) return *argument.always;
  if (auto flag = flags.find(argument.quantisedBy); flag != flags.end() && flag->second) return DType::Float8E4NV;
  if (argument.ofFp8 && isFp8(dtype)) return *argument.ofFp8;
  if (argument.typeBy.empty()) return dtype;
  for (size_t i = 0; i < table.numbers.size(); ++i)
    if (table.numbers[i].name == argument.typeBy) return typeOf(table, numbers[i]);
  return dtype;
}

// Returns true if the call has the tensor. Throws Error where it has one too many or too few.
bool isGiven(const Table& table, const Operand& argument, uint64_t address, const std::vector<int64_t>& shape,
             const std::map<std::string, int64_t>& flags, DType dtype) {
  const std::string& by = argument.givenBy;
  bool isEmpty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (by.empty() && !address && !isEmpty) fail(table, "`" + argument.name + "` has no address");
  if (by.empty()) return true;
  if (by == "any") return address;
  bool isWanted = by == "fp8" ? isFp8(dtype) : flags.at(by);
  std::string type = tandem::name(dtype), quoted = "`" + argument.name + "`";
  if (isWanted && !address && !isEmpty)
    fail(table, quoted + " is needed with " + (by == "fp8" ? type : "`" + by + "`"));
  if (!isWanted && address)
    fail(table, quoted + " goes with " + (by == "fp8" ? "fp8 alone, not with " + type : "`" + by + "` alone"));
  return isWanted;
}

// The operator is made for the largest sizes, so these must fit.
void checkBytes(const Table& table, const std::vector<int64_t>& sizes, DType dtype) {
  constexpr int64_t kMost = int64_t(1) << 40;
  int64_t columns = sizes.size() > 1 ? sizes[1] : 1, elements = 0;
  if (__builtin_mul_overflow(sizes[0], columns, &elements) || elements > kMost / byteSize(dtype))
    fail(table, std::to_string(sizes[0]) + " times " + std::to_string(columns) + " elements of " + tandem::name(dtype) +
                    " are more than 2**40 bytes");
}

std::string madeFor(const Table& table, const std::vector<int64_t>& sizes, DType dtype, const void* config) {
  std::string out = "`" + table.name + "` of up to ";
  for (size_t i = 0; i < sizes.size(); ++i)
    out += (i ? " x " : "") + (table.sizes[i].isOfRank ? table.sizes[i].name : std::to_string(sizes[i]));
  out += std::string(" ") + tandem::name(dtype);
  nlohmann::json options = table.write(config);
  for (const Option& o : table.options)
    if (o.kind == Option::Kind::Word || (options.contains(o.name) && !o.lists))
      out += ", " + o.name + " " + (o.real ? options[o.name].dump() : std::to_string(o.get(config)));
  return out.substr(0, kMostText);
}

// Returns true if all ranks must give the same number.
bool isTold(Kind kind) { return kind != Kind::Type && kind != Kind::OwnRows; }

std::string numberNames(const Table& table) {
  std::string out;
  for (const Number& n : table.numbers)
    if (isTold(n.kind)) out += (out.empty() ? "" : ",") + n.name;
  return out;
}

void checkCounts(const Table& table, const Number& number, const std::vector<int64_t>& numbers, int64_t most,
                 int ranks) {
  Counts counts = countsOf(table, numbers, ranks);
  int64_t room = shardRows(most, ranks) * ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t sent = 0, received = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      if (counts.rows(rank, peer) < 0 || counts.rows(rank, peer) > room)
        fail(table, "`" + number.name + "`: rank " + std::to_string(rank) + " sends " +
                        std::to_string(counts.rows(rank, peer)) + " rows to rank " + std::to_string(peer) + ", 0 to " +
                        std::to_string(room) + " are possible");
      sent += counts.rows(rank, peer);
      received += counts.rows(peer, rank);
    }
    for (auto [rows, what] : {std::pair(sent, "sends"), {received, "gets"}})
      if (rows > room)
        fail(table, "`" + number.name + "`: rank " + std::to_string(rank) + " " + what + " " + std::to_string(rows) +
                        " rows, the operator was made for up to " + std::to_string(room));
  }
}

void checkNumber(const Table& table, size_t i, const std::vector<int64_t>& sizes, const std::vector<int64_t>& numbers,
                 int ranks) {
  const Number& n = table.numbers[i];
  int64_t value = numbers[i];
  std::string madeForUpTo = ", the operator was made for 1 to " + std::to_string(sizes[0]);
  switch (n.kind) {
    case Kind::Rows:
      if (value < 1 || value > sizes[0]) fail(table, "`" + n.name + "` is " + std::to_string(value) + madeForUpTo);
      return;
    case Kind::OwnRows:
      if (value < 0 || value > sizes[0])
        fail(table, "`" + n.name + "` is " + std::to_string(value) + ", the operator was made for 0 to " +
                        std::to_string(sizes[0]));
      return;
    case Kind::Elements:
      if (value < 1 || value > sizes[0])
        fail(table, "`" + table.tensors[0].name + "` has " + std::to_string(value) + " elements" + madeForUpTo);
      return;
    case Kind::Rank:
      if (value < 0 || value >= ranks)
        fail(table,
             "`" + n.name + "` is " + std::to_string(value) + ", 0 to " + std::to_string(ranks - 1) + " are possible");
      return;
    case Kind::Counts: return checkCounts(table, n, numbers, sizes[0], ranks);
    case Kind::Type: typeOf(table, value); return;
    case Kind::Flag: return;
  }
}

void checkNumbers(const Table& table, const std::vector<int64_t>& sizes, const std::vector<int64_t>& numbers,
                  int ranks) {
  size_t wanted = table.numbers.size();
  bool hasCounts = wanted && table.numbers.back().kind == Kind::Counts;
  if (hasCounts ? numbers.size() < wanted : numbers.size() != wanted)
    fail(table, std::to_string(numbers.size()) + " numbers given, " + std::to_string(wanted) + " wanted");
  for (size_t i = 0; i < wanted; ++i) checkNumber(table, i, sizes, numbers, ranks);
}

}  // namespace

int64_t shardRows(int64_t m, int ranks) {
  if (ranks < 1) throw Error("`ranks` is " + std::to_string(ranks) + ", at least 1 is needed");
  return cdiv(m, ranks);
}

int64_t rowsOfRank(int64_t m, int ranks, int rank) {
  int64_t shard = shardRows(m, ranks);
  return std::clamp<int64_t>(m - rank * shard, 0, shard);
}

int64_t Counts::rows(int from, int to) const {
  return all.size() == 1 ? rowsOfRank(all[0], ranks, to) : all[size_t(from) * size_t(ranks) + size_t(to)];
}

Counts countsOf(const Table& table, const std::vector<int64_t>& numbers, int ranks) {
  auto first = numbers.begin() + int64_t(table.numbers.size()) - 1;
  std::span<const int64_t> given(first, numbers.end());
  if (given.size() != 1 && given.size() != size_t(ranks) * size_t(ranks))
    fail(table, "`" + table.numbers.back().name + "` has " + std::to_string(given.size()) + " numbers, one or " +
                    std::to_string(ranks) + " times " + std::to_string(ranks) + " are needed");
  return {given, ranks};
}

void checkMade(const Table& table, const std::vector<int64_t>& sizes, DType dtype, const void* config) {
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 1)
      fail(table, "`" + table.sizes[i].name + "` is " + std::to_string(sizes[i]) + ", at least 1 is needed");
  table.checkTypes(dtype);
  checkBytes(table, sizes, dtype);
  table.checkOptions(config);
}

Operator::Operator(const Table& table, Team& team, std::vector<int64_t> sizes, DType dtype, const void* config)
    : table_(table), team_(team), dtype_(dtype), memory_(team, table.name), sizes_(std::move(sizes)) {
  checkMade(table, sizes_, dtype, config);
  for (const Operand& t : table.tensors) {
    const Option* flag = t.transposedBy.empty() ? nullptr : table.find(t.transposedBy);
    transposed_.push_back(flag && flag->get(config));
  }
  for (const Option& o : table.options)
    if (o.get && o.kind != Option::Kind::Word) flags_[o.name] = o.get(config);
  if (!table.isLocal) op_ = team.openOperator(madeFor(table, sizes_, dtype, config), numberNames(table));
}

Operator::~Operator() = default;

void Operator::checkOpen() const {
  if (closed_) throw Error("`" + table_.name + "` is closed");
}

const Tensor& Operator::findings() {
  if (!findings_.host) findings_ = findingsOf(team_, table_.name);
  return findings_.tensor;
}

// Of its parts too: the first one's text.
std::string Operator::takeFindings() {
  std::string text = takeFinding(findings_, table_.name);
  for (Operator* part : parts()) {
    std::string of = part->takeFindings();
    if (text.empty()) text = of;
  }
  return text;
}

void Operator::raiseFindings() {
  if (std::string text = takeFindings(); !text.empty()) throw Error(text);
}

// Peers write to what a call says is symmetric: it must be memory of the team.
void Operator::checkSymmetric(const Call& call) {
  const Tensor& out = call.tensors.back();
  for (size_t i = 0; i < table_.numbers.size(); ++i) {
    if (table_.numbers[i].name != "symmetric_out" || !call.numbers[i]) continue;
    try {
      team_.peer(out, team_.rank());
    } catch (const Error& e) {
      fail(table_, std::string("`out` is to be symmetric: ") + e.what());
    }
  }
}

// Tells the run a call that must be the same on all ranks.
void Operator::begin(const Call& call) {
  raiseFindings();
  checkSymmetric(call);
  if (table_.isLocal) return;
  std::vector<int64_t> told;
  for (size_t i = 0; i < call.numbers.size(); ++i)
    if (i >= table_.numbers.size() || isTold(table_.numbers[i].kind)) told.push_back(call.numbers[i]);
  if (told.size() > kMostTold) {  // of all that is left out, one number
    uint64_t rest = 0;
    for (size_t i = kMostTold - 1; i < told.size(); ++i) rest = (rest ^ uint64_t(told[i])) * 0x9E3779B97F4A7C15;
    told.resize(kMostTold);
    told.back() = int64_t(rest);
  }
  team_.callOperator(op_, call.stream, told);
}

void Operator::checkTensorCount(size_t given) const {
  size_t wanted = table_.tensors.size();
  if (given != wanted) fail(table_, std::to_string(given) + " tensors given, " + std::to_string(wanted) + " wanted");
}

void Operator::call(const Call& call) {
  checkOpen();
  checkTensorCount(call.tensors.size());
  checkNumbers(table_, sizes_, call.numbers, team_.size());
  Values values{table_, sizes_, call.numbers, flags_, team_.size(), team_.rank()};
  for (size_t i = 0; i < table_.tensors.size(); ++i) {
    const Operand& argument = table_.tensors[i];
    const Tensor& t = call.tensors[i];
    std::vector<int64_t> shape = values.shape(argument, transposed_[i]);
    if (!isGiven(table_, argument, t.address, shape, flags_, dtype_)) continue;
    DType wanted = typeOf(table_, argument, call.numbers, dtype_, flags_);
    if (t.dtype != wanted)
      fail(table_, "`" + argument.name + "` is " + tandem::name(t.dtype) +
                       (argument.always ? ", it must be " : ", the operator was made for ") + tandem::name(wanted));
    if (t.shape == shape) continue;
    if (!table_.isFlat)
      fail(table_, "`" + argument.name + "` has shape " + textOf(t.shape) + ", " + textOf(shape) + " is needed");
    if (t.size() != product(shape))
      fail(table_, "`" + argument.name + "` has " + std::to_string(t.size()) + " elements, " +
                       std::to_string(product(shape)) + " are needed");
  }
  begin(call);
  queue(call);
}

bool Operator::isLikeLast(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers) const {
  return numbers == last_.numbers &&
         std::ranges::equal(addresses, hadAddress_, [](uint64_t address, bool had) { return had == (address != 0); });
}

const Call& Operator::at(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers, int stream) {
  checkOpen();
  checkTensorCount(addresses.size());
  if (!isLikeLast(addresses, numbers)) {
    checkNumbers(table_, sizes_, numbers, team_.size());
    Values values{table_, sizes_, numbers, flags_, team_.size(), team_.rank()};
    Call call{{}, numbers};
    for (size_t i = 0; i < addresses.size(); ++i) {
      const Operand& argument = table_.tensors[i];
      std::vector<int64_t> shape = values.shape(argument, transposed_[i]);
      bool given = isGiven(table_, argument, addresses[i], shape, flags_, dtype_);
      call.tensors.push_back(given ? Tensor{0, shape, typeOf(table_, argument, numbers, dtype_, flags_)} : Tensor());
    }
    last_ = std::move(call);
    hadAddress_.assign(addresses.size(), false);
    for (size_t i = 0; i < addresses.size(); ++i) hadAddress_[i] = addresses[i] != 0;
  }
  last_.stream = stream;
  for (size_t i = 0; i < addresses.size(); ++i)
    if (!last_.tensors[i].shape.empty()) last_.tensors[i].address = addresses[i];
  return last_;
}

void Operator::callAt(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers, int stream) {
  const Call& call = at(addresses, numbers, stream);
  begin(call);
  queue(call);
}

std::string Operator::tuneAt(const std::vector<uint64_t>& addresses, const std::vector<int64_t>& numbers, int stream) {
  return tune(at(addresses, numbers, stream));
}

std::string Operator::tune(const Call&) { fail(table_, "there is nothing to tune"); }

MemoryBytes Operator::memory() const {
  MemoryBytes out = memory_.bytes();
  for (const Operator* part : parts()) {
    out.symmetric += part->memory().symmetric;
    out.local += part->memory().local;
  }
  return out;
}

void Operator::close() {
  if (closed_) return;
  release();
  raiseFindings();
}

void Operator::release() {
  if (std::exchange(closed_, true)) return;
  if (!table_.isLocal) team_.callOperator(op_, 0, {});
  for (Operator* part : parts()) part->release();
  if (table_.isLocal)
    team_.synchronize();
  else
    team_.barrier();
  if (findings_.host) forget(team_, findings_);
  memory_.release();
}

Tensor Memory::symmetricEmpty(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  bytes_.symmetric += Tensor{0, shape, dtype}.bytes();
  return all_.emplace_back(team_.empty(shape, dtype, owner_ + " " + name));
}
Tensor Memory::symmetricZeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  bytes_.symmetric += Tensor{0, shape, dtype}.bytes();
  return all_.emplace_back(team_.zeros(shape, dtype, owner_ + " " + name));
}
Tensor Memory::localZeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  bytes_.local += Tensor{0, shape, dtype}.bytes();
  return all_.emplace_back(team_.localZeros(shape, dtype, owner_ + " " + name));
}
void Memory::release() {
  for (const Tensor& t : all_) team_.release(t);
  for (const Tensor& t : shared_) leaveWorkspace(team_, t);
  bytes_ = {};
  all_.clear();
  shared_.clear();
}
Tensor Memory::symmetricScratch(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  return scratch(shape, dtype, name, true);
}
Tensor Memory::localScratch(const std::vector<int64_t>& shape, DType dtype, const std::string& name) {
  return scratch(shape, dtype, name, false);
}
Tensor Memory::scratch(const std::vector<int64_t>& shape, DType dtype, const std::string& name, bool isSymmetric) {
  if (isShared_) return shared_.emplace_back(fromWorkspace(team_, shape, dtype, owner_ + " " + name, isSymmetric));
  return isSymmetric ? symmetricEmpty(shape, dtype, name) : localZeros(shape, dtype, name);
}

}  // namespace tandem::ops
