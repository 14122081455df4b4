// This makes a kernel of random integer arithmetic on tiles of 8x16 and, beside its text, every value as numbers. It
// does not choose ops whose values would break the analyses' assumptions (no overflow, positive divisors).
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tandem::analysis::test {

constexpr int kRows = 8, kColumns = 16;

class RandomKernel {
 public:
  using Tile = std::array<int64_t, kRows * kColumns>;

  RandomKernel(unsigned seed, int ops, bool affineOnly) : random_(seed), affineOnly_(affineOnly) {
    addSources();
    for (int n = 0; n < ops; ++n) addOp();
    for (int n = 0; n < 3; ++n) addMask();
  }

  std::string text(const std::string& rest = "") const {
    return "func.func @k(%ptr: !tile.ptr<f16> {tile.name = \"ptr\"}, %x: i32 {tile.name = \"x\"}, "
           "%m: i32 {tile.name = \"m\", tile.multiple_of = 16 : i32}) {\n" +
           text_ + rest + "return\n}";
  }
  const std::vector<Tile>& tiles() const { return tiles_; }  // `%v0`, `%v1`, ...
  const std::vector<Tile>& masks() const { return masks_; }  // `%mask0`, ...; 0 or 1
  const std::map<std::string, int64_t>& scalars() const { return scalars_; }
  int pick(int n) { return int(random_() % unsigned(n)); }

 private:
  using Rule = std::function<std::optional<int64_t>(int64_t, int64_t)>;

  static std::string named(const std::string& name) { return "{name = \"" + name + "\"}"; }

  void add(const Tile& value, const std::string& op) {
    std::string name = "v" + std::to_string(tiles_.size());
    std::string line = op;
    line.replace(line.find("NAME"), 4, named(name));
    text_ += "%" + name + " = " + line + "\n";
    tiles_.push_back(value);
  }

  void addScalar(const std::string& name, int64_t value) {
    scalars_[name] = value;
    Tile tile;
    tile.fill(value);
    add(tile, "tile.splat %" + name + " NAME : i32 -> tensor<8x16xi32>");
  }

  void addRange(int axis, int start) {
    std::string size = std::to_string(axis == 0 ? kRows : kColumns), n = std::to_string(tiles_.size());
    std::string thin = axis == 0 ? "8x1" : "1x16";
    text_ += "%r" + n + " = tile.make_range " + std::to_string(start) + " to " +
             std::to_string(start + (axis == 0 ? kRows : kColumns)) + " : tensor<" + size + "xi32>\n";
    text_ += "%e" + n + " = tile.expand_dims %r" + n + " at " + std::to_string(1 - axis) + " : tensor<" + size +
             "xi32> -> tensor<" + thin + "xi32>\n";
    Tile tile;
    for (int i = 0; i < kRows * kColumns; ++i) tile[i] = start + (axis == 0 ? i / kColumns : i % kColumns);
    add(tile, "tile.broadcast %e" + n + " NAME : tensor<" + thin + "xi32> -> tensor<8x16xi32>");
  }

  void addSources() {
    text_ += "%pid = tile.program_id 0 {name = \"pid\"}\n";
    addScalar("x", pick(41) - 20);
    addScalar("m", 16 * (1 + pick(6)));
    addScalar("pid", pick(5));
    for (int axis : {0, 1, 1}) addRange(axis, pick(3) * 4);
    for (int constant : {1, 4, 8, 12, 16, -8}) {
      Tile tile;
      tile.fill(constant);
      add(tile, "arith.constant NAME dense<" + std::to_string(constant) + "> : tensor<8x16xi32>");
    }
  }

  void addOp() {
    static const std::vector<std::pair<std::string, Rule>> rules = {
        {"addi", [](int64_t a, int64_t b) { return a + b; }},
        {"subi", [](int64_t a, int64_t b) { return a - b; }},
        {"muli", [](int64_t a, int64_t b) { return a * b; }},
        {"remsi", [](int64_t a, int64_t b) { return b > 0 ? std::optional(a % b) : std::nullopt; }},
        {"divsi", [](int64_t a, int64_t b) { return b > 0 ? std::optional(a / b) : std::nullopt; }},
        {"divui",
         [](int64_t a, int64_t b) { return b > 0 ? std::optional<int64_t>(uint32_t(a) / uint32_t(b)) : std::nullopt; }},
        {"remui",
         [](int64_t a, int64_t b) { return b > 0 ? std::optional<int64_t>(uint32_t(a) % uint32_t(b)) : std::nullopt; }},
        {"andi", [](int64_t a, int64_t b) { return a & b; }},
        {"ori", [](int64_t a, int64_t b) { return a | b; }},
        {"xori", [](int64_t a, int64_t b) { return a ^ b; }},
        {"minsi", [](int64_t a, int64_t b) { return std::min(a, b); }},
        {"maxsi", [](int64_t a, int64_t b) { return std::max(a, b); }},
        {"shli",
         [](int64_t a, int64_t b) { return b >= 0 && b < 20 ? std::optional(a * (int64_t(1) << b)) : std::nullopt; }},
        {"shrsi", [](int64_t a, int64_t b) { return b >= 0 && b < 32 ? std::optional(a >> b) : std::nullopt; }},
        {"shrui", [](int64_t a, int64_t b) {
           return b >= 0 && b < 32 ? std::optional<int64_t>(uint32_t(a) >> b) : std::nullopt;
         }}};
    int choice = pick(affineOnly_ ? 4 : int(rules.size()) + 2);
    if (choice == int(rules.size())) return addTransposed();
    if (choice > int(rules.size())) return addSelection();
    const auto& [name, rule] = rules[choice];
    int a = pick(tiles_.size()), b = pick(tiles_.size());
    Tile value;
    for (size_t i = 0; i < value.size(); ++i) {
      std::optional<int64_t> element = rule(tiles_[a][i], tiles_[b][i]);
      if (!element || std::abs(*element) > (1 << 24)) return;
      value[i] = *element;
    }
    add(value, "arith." + name + " %v" + std::to_string(a) + ", %v" + std::to_string(b) + " NAME : tensor<8x16xi32>");
  }

  void addTransposed() {
    int a = pick(tiles_.size());
    std::string n = std::to_string(tiles_.size());
    text_ += "%t" + n + " = tile.permute %v" + std::to_string(a) + " [1, 0] : tensor<8x16xi32> -> tensor<16x8xi32>\n";
    Tile value;
    for (int i = 0; i < kRows * kColumns; ++i) value[i] = tiles_[a][(i % kRows) * kColumns + i / kRows];
    add(value, "tile.reshape %t" + n + " NAME : tensor<16x8xi32> -> tensor<8x16xi32>");
  }

  static bool holds(const std::string& predicate, int64_t a, int64_t b) {
    if (predicate == "slt") return a < b;
    if (predicate == "sle") return a <= b;
    if (predicate == "sgt") return a > b;
    if (predicate == "sge") return a >= b;
    if (predicate == "ult") return uint32_t(a) < uint32_t(b);
    if (predicate == "ule") return uint32_t(a) <= uint32_t(b);
    if (predicate == "ugt") return uint32_t(a) > uint32_t(b);
    return uint32_t(a) >= uint32_t(b);
  }

  // A comparison named `name`.
  Tile compare(const std::string& name) {
    std::string predicate = std::array{"slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}[pick(8)];
    int a = pick(tiles_.size()), b = pick(tiles_.size());
    text_ += "%" + name + " = arith.cmpi " + predicate + ", %v" + std::to_string(a) + ", %v" + std::to_string(b) + " " +
             named(name) + " : tensor<8x16xi32>\n";
    Tile value;
    for (size_t i = 0; i < value.size(); ++i) value[i] = holds(predicate, tiles_[a][i], tiles_[b][i]);
    return value;
  }

  void addSelection() {
    std::string mask = "s" + std::to_string(tiles_.size());
    Tile choice = compare(mask), value;
    int a = pick(tiles_.size()), b = pick(tiles_.size());
    for (size_t i = 0; i < value.size(); ++i) value[i] = tiles_[choice[i] ? a : b][i];
    add(value, "arith.select %" + mask + ", %v" + std::to_string(a) + ", %v" + std::to_string(b) +
                   " NAME : tensor<8x16xi1>, tensor<8x16xi32>");
  }

  // A comparison, or it and an earlier mask.
  void addMask() {
    std::string name = "mask" + std::to_string(masks_.size());
    bool first = masks_.empty();
    Tile value = compare(first ? name : name + "c");
    if (!first) {
      text_ += "%" + name + " = arith.andi %" + name + "c, %mask" + std::to_string(masks_.size() - 1) + " " +
               named(name) + " : tensor<8x16xi1>\n";
      for (size_t i = 0; i < value.size(); ++i) value[i] &= masks_.back()[i];
    }
    masks_.push_back(value);
  }

  std::mt19937 random_;
  bool affineOnly_;
  std::string text_;
  std::vector<Tile> tiles_, masks_;
  std::map<std::string, int64_t> scalars_;
};

}  // namespace tandem::analysis::test
