// Options: their checks, and JSON in and out.
#include "ops/table.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {
using nlohmann::json;

std::string taken(const Table& table) {
  std::string out;
  for (const Option& o : table.options)
    if (o.isTaken) out += (out.empty() ? "`" : ", `") + o.name + "`";
  return out;
}

[[noreturn]] void failTaken(const Table& table, const std::string& option) {
  std::string what = table.find(option) ? " does not take `" : " has no option `";
  throw Error("`" + table.name + "`" + what + option + "`; it takes " + taken(table));
}

[[noreturn]] void fail(const Table& table, const Option& o, const std::string& seen, const std::string& needed) {
  throw Error("`" + table.name + "`: `" + o.name + "` is " + seen + ", " + needed);
}

void checkNumber(const Table& table, const Option& o, int64_t value) {
  std::string seen = std::to_string(value);
  if (o.kind == Option::Kind::Word && (value < 0 || value >= int64_t(o.words.size())))
    throw Error("`" + table.name + "`: there is no " + o.name + " " + seen);
  bool isTile = o.kind == Option::Kind::Tile;
  if (isTile && (value < 16 || !std::has_single_bit(uint64_t(value))))
    fail(table, o, seen, "a power of two from 16 is needed");
  if (o.most != kNoLimit && (value < o.least || value > o.most))
    fail(table, o, seen, std::to_string(o.least) + " to " + std::to_string(o.most) + " are possible");
  if (value < o.least) fail(table, o, seen, "at least " + std::to_string(o.least) + " is needed");
}

std::vector<std::vector<int>> listsFrom(const Option& o, const json& value) {
  auto isCount = [](const json& count) { return count.is_number_integer(); };
  auto isList = [&](const json& list) { return list.is_array() && std::all_of(list.begin(), list.end(), isCount); };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), isList))
    throw Error("option `" + o.name + "` is " + value.dump() + ", a list of integers for each peer is needed");
  std::vector<std::vector<int>> out;
  for (const json& list : value)
    for (out.emplace_back(); const json& count : list)
      out.back().push_back(int(std::clamp<int64_t>(count.get<int64_t>(), -1, 1 << 30)));
  return out;
}

double realFrom(const Option& o, const json& value) {
  if (!value.is_number()) throw Error("option `" + o.name + "` is " + value.dump() + ", a number is needed");
  return value.get<double>();
}

int64_t wordFrom(const Table& table, const Option& o, const json& value) {
  auto word = std::find(o.words.begin(), o.words.end(), value.is_string() ? value.get<std::string>() : "");
  if (word != o.words.end()) return word - o.words.begin();
  std::string all;
  for (const std::string& w : o.words) all += (all.empty() ? "" : ", ") + w;
  fail(table, o, value.is_string() ? "'" + value.get<std::string>() + "'" : value.dump(),
       "one of " + all + " is needed");
}

int64_t numberFrom(const Table& table, const Option& o, const json& value) {
  if (o.kind == Option::Kind::Word) return wordFrom(table, o, value);
  bool isFlag = o.kind == Option::Kind::Flag;
  if (!value.is_number_integer() && !(isFlag && value.is_boolean()))
    throw Error("option `" + o.name + "` is " + value.dump() + ", an integer is needed");
  if (isFlag) return value.is_boolean() ? value.get<bool>() : value != 0;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(kNoLimit)) return kNoLimit;
  int64_t number = value.get<int64_t>();
  if (number < o.least) checkNumber(table, o, number);
  return number;
}

bool isGiven(const Option& o, const void* config) {
  if (o.lists) return !o.lists(const_cast<void*>(config))->empty();
  if (o.real) return *o.real(const_cast<void*>(config)) != 0;
  return o.get(config) != o.unset;
}

}  // namespace

const Option* Table::find(const std::string& option) const {
  auto found = std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == option; });
  return found == options.end() ? nullptr : &*found;
}

void Table::checkTypes(DType dtype) const {
  if (!types.empty() && std::find(types.begin(), types.end(), dtype) == types.end())
    throw Error("`" + name + "`: " + typeWords + " is needed, not " + tandem::name(dtype));
}

void Table::checkOptions(const void* config) const {
  for (const Option& o : options) {
    if (!isGiven(o, config)) continue;
    if (!o.isTaken) failTaken(*this, o.name);
    if (o.get) checkNumber(*this, o, o.get(config));
    if (o.real && !(*o.real(const_cast<void*>(config)) > 0 && std::isfinite(*o.real(const_cast<void*>(config)))))
      fail(*this, o, json(*o.real(const_cast<void*>(config))).dump(), "a number above 0 is needed");
  }
  if (checkMore) checkMore(config);
}

void Table::read(const json& given, void* config) const {
  if (!given.is_object()) throw Error("`config` is " + given.dump() + ", an object is needed");
  for (auto& [key, value] : given.items()) {
    const Option* o = find(key);
    if (!o || !o->isTaken) failTaken(*this, key);
    if (o->lists)
      *o->lists(config) = listsFrom(*o, value);
    else if (o->real)
      *o->real(config) = realFrom(*o, value);
    else
      o->set(config, numberFrom(*this, *o, value));
  }
}

json Table::write(const void* config) const {
  json out = json::object();
  for (const Option& o : options) {
    if (!isGiven(o, config)) continue;
    if (o.lists)
      out[o.name] = *o.lists(const_cast<void*>(config));
    else if (o.real)
      out[o.name] = *o.real(const_cast<void*>(config));
    else if (o.kind == Option::Kind::Word)
      out[o.name] = o.words[size_t(o.get(config))];
    else if (o.kind == Option::Kind::Flag)
      out[o.name] = o.get(config) != 0;
    else
      out[o.name] = o.get(config);
  }
  return out;
}

std::string Table::key(const void* config) const {
  std::string out;
  json options = write(config);
  for (auto& [name, value] : options.items())
    out += "-" + name + (value.is_string() ? "_" + value.get<std::string>() : value.is_boolean() ? "" : value.dump());
  return out;
}

json Table::asJson() const {
  constexpr const char* kKinds[] = {"number", "number", "flag", "word", "lists", "real"};
  constexpr const char* kNumbers[] = {"rows", "elements", "own_rows", "rank", "flag", "type", "counts"};
  json out = {{"name", name}, {"class", className}, {"what", what}, {"tunes", tunes}, {"local", isLocal}};
  for (const char* list : {"sizes", "types", "tensors", "numbers", "options"}) out[list] = json::array();
  if (!linear.className.empty())
    out["linear"] = {{"class", linear.className},
                     {"splits", linear.splitsOutput ? "output" : "input"},
                     {"sequence_parallel", linear.isSequenceParallel},
                     {"what", linear.what}};
  for (const Size& s : sizes) out["sizes"].push_back({{"name", s.name}, {"what", s.what}});
  for (DType t : types) out["types"].push_back(tandem::name(t));
  out["type_words"] = typeWords;
  for (const Operand& t : tensors)
    out["tensors"].push_back({{"name", t.name},
                              {"shape", t.shape},
                              {"output", t.isOutput},
                              {"transposed_by", t.transposedBy},
                              {"type_by", t.typeBy},
                              {"type", t.always ? tandem::name(*t.always) : ""},
                              {"type_of_fp8", t.ofFp8 ? tandem::name(*t.ofFp8) : ""},
                              {"quantised_by", t.quantisedBy},
                              {"given_by", t.givenBy},
                              {"in_place", t.isInPlace}});
  for (const Number& n : numbers)
    out["numbers"].push_back({{"name", n.name}, {"kind", kNumbers[int(n.kind)]}, {"what", n.what}});
  for (const Option& o : options)
    if (o.isTaken)
      out["options"].push_back({{"name", o.name}, {"kind", kKinds[int(o.kind)]}, {"what", o.what}, {"words", o.words}});
  return out;
}

DType checkedDType(int number) {
  if (number < 0 || number > int(DType::Float64))
    throw Error("element type number " + std::to_string(number) + " is unknown");
  return DType(number);
}

const Table& tableOf(const std::string& name) {
  std::string all;
  for (const Table* table : allTables()) {
    if (table->name == name) return *table;
    all += (all.empty() ? "`" : ", `") + table->name + "`";
  }
  throw Error("there is no operator `" + name + "`; there are " + all);
}

const std::vector<DType>& summedTypes() {
  static const std::vector<DType> types = {DType::Float16, DType::BFloat16, DType::Float32};
  return types;
}

const std::vector<DType>& multipliedTypes() {
  static const std::vector<DType> types = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float8E4NV,
                                           DType::Float8E5};
  return types;
}

bool isFp8(DType dtype) { return dtype == DType::Float8E4NV || dtype == DType::Float8E5; }

}  // namespace tandem::ops
