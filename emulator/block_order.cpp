#include "emulator/block_order.h"
#include <algorithm>
#include <map>
#include <set>

namespace tandem::emulator {
namespace {

using Nodes = std::vector<uint32_t>;

class BlockOrder {
 public:
  explicit BlockOrder(std::vector<Nodes> successors)
      : successors_(std::move(successors)), level_(successors_.size(), 0), number_(successors_.size()),
        lowest_(successors_.size()), isOpen_(successors_.size()) {}

  Nodes run() {
    Nodes all(successors_.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    visit(all, 0, 0);
    return std::move(out_);
  }

 private:
  // The blocks of one level: those inside of one loop, or all. Branches back to the loop's entry are left out, so that
  // what still forms circles are the loops inside.
  void visit(const Nodes& nodes, uint32_t entry, uint32_t level) {
    for (uint32_t node : nodes) level_[node] = level, number_[node] = 0;
    std::vector<Nodes> circles = circlesOf(nodes, entry, level);
    for (auto circle = circles.rbegin(); circle != circles.rend(); ++circle) {
      if (circle->size() == 1) {
        level_[circle->front()] = kPlaced;
        out_.push_back(circle->front());
        continue;
      }
      visit(*circle, entryOf(*circle, nodes), level + 1);
    }
  }

  uint32_t entryOf(Nodes& circle, const Nodes& around) const {
    std::sort(circle.begin(), circle.end());
    uint32_t first = circle.back();
    for (uint32_t node : around)
      if (!std::binary_search(circle.begin(), circle.end(), node))
        for (uint32_t to : successors_[node])
          if (std::binary_search(circle.begin(), circle.end(), to)) first = std::min(first, to);
    for (uint32_t node : out_)  // placed already
      for (uint32_t to : successors_[node])
        if (std::binary_search(circle.begin(), circle.end(), to)) first = std::min(first, to);
    return first;
  }

  // Tarjan's strongly connected components, those that others lead to first; without recursion, as code may be long.
  std::vector<Nodes> circlesOf(const Nodes& nodes, uint32_t entry, uint32_t level) {
    std::vector<Nodes> out;
    struct Visit {
      uint32_t node;
      size_t next;
    };
    std::vector<Visit> path;
    Nodes open;
    uint32_t count = 0;
    auto begin = [&](uint32_t node) {
      number_[node] = lowest_[node] = ++count;
      isOpen_[node] = true;
      open.push_back(node);
      path.push_back({node, 0});
    };
    auto walk = [&](uint32_t start) {
      if (number_[start]) return;
      begin(start);
      while (!path.empty()) {
        auto& [node, next] = path.back();
        if (next < successors_[node].size()) {
          uint32_t to = successors_[node][next++];
          if (to == entry || level_[to] != level) continue;
          if (!number_[to])
            begin(to);
          else if (isOpen_[to])
            lowest_[node] = std::min(lowest_[node], number_[to]);
          continue;
        }
        uint32_t done = node;
        path.pop_back();
        if (!path.empty()) lowest_[path.back().node] = std::min(lowest_[path.back().node], lowest_[done]);
        if (lowest_[done] != number_[done]) continue;
        Nodes& circle = out.emplace_back();
        do {
          circle.push_back(open.back());
          isOpen_[open.back()] = false;
          open.pop_back();
        } while (circle.back() != done);
      }
    };
    walk(entry);
    std::vector<Nodes> reached = std::move(out);
    out.clear();
    for (uint32_t node : nodes) walk(node);  // what nothing leads to comes last
    out.insert(out.end(), reached.begin(), reached.end());
    return out;
  }

  static constexpr uint32_t kPlaced = ~0u;
  std::vector<Nodes> successors_;
  Nodes level_, number_, lowest_;
  std::vector<bool> isOpen_;
  Nodes out_;
};

}  // namespace

void orderBlocks(Program& program, const std::vector<Branch>& branches, Handler jump) {
  const uint32_t size = uint32_t(program.code.size());
  std::set<uint32_t> begins{0};
  for (uint32_t label : program.labels)
    if (label < size) begins.insert(label);
  for (const Branch& branch : branches)
    if (branch.at + 1 < size) begins.insert(branch.at + 1);
  std::vector<uint32_t> first(begins.begin(), begins.end());
  const size_t count = first.size();
  first.push_back(size);
  auto blockAt = [&](uint32_t place) {
    return uint32_t(std::lower_bound(first.begin(), first.end(), place) - first.begin());
  };

  std::vector<Nodes> successors(count);
  std::vector<bool> goesOn(count, true);
  std::map<uint32_t, const Branch*> byPlace;
  for (const Branch& branch : branches) byPlace[branch.at] = &branch;
  for (uint32_t block = 0; block < count; ++block) {
    auto branch = byPlace.find(first[block + 1] - 1);
    if (branch != byPlace.end()) {
      for (const uint32_t* target : branch->second->targets) successors[block].push_back(blockAt(*target));
      goesOn[block] = branch->second->goesOn;
    }
    goesOn[block] = goesOn[block] && block + 1 < count;
    if (goesOn[block]) successors[block].push_back(block + 1);
  }

  Nodes order = BlockOrder(successors).run();
  std::vector<Instruction> code;
  std::vector<uint32_t> place(count);
  std::vector<std::pair<uint32_t*, uint32_t>> added;  // labels and their blocks
  for (size_t i = 0; i < order.size(); ++i) {
    uint32_t block = order[i];
    place[block] = uint32_t(code.size());
    code.insert(code.end(), program.code.begin() + first[block], program.code.begin() + first[block + 1]);
    if (!goesOn[block] || (i + 1 < order.size() && order[i + 1] == block + 1)) continue;
    Instruction& next = code.emplace_back();
    next.handler = jump;
    next.statement = code[code.size() - 2].statement;
    added.emplace_back(&program.labels.emplace_back(~0u), block + 1);
    next.detail = added.back().first;
  }
  for (uint32_t& label : program.labels)
    if (label < size) label = place[blockAt(label)];
  for (auto [label, block] : added) *label = place[block];
  program.code = std::move(code);
}

}  // namespace tandem::emulator
