// Each byte's last accesses: pages of cells, a cell a range of bytes with the same accesses. Proportional to the
// memory touched. Knows nothing of order: whoever walks the cells compares.
#pragma once
#include "interpreter/check/actors.h"
#include <algorithm>

namespace tandem::interpreter::check {

// The accesses to a range that a later one may still race with: those not superseded.
struct Cell {
  uint32_t begin = 0, end = 0;  // within the page
  Stamp write, read;            // the last of each; none: actor 0
  std::unique_ptr<std::vector<Stamp>> moreWrites, moreReads;

  Cell() = default;
  Cell(uint32_t b, uint32_t e) : begin(b), end(e) {}
  Cell(Cell&&) = default;
  Cell& operator=(Cell&&) = default;
  Cell part(uint32_t b, uint32_t e) const {
    Cell c(b, e);
    c.write = write;
    c.read = read;
    if (moreWrites) c.moreWrites = std::make_unique<std::vector<Stamp>>(*moreWrites);
    if (moreReads) c.moreReads = std::make_unique<std::vector<Stamp>>(*moreReads);
    return c;
  }
};

class History {
 public:
  static constexpr uint32_t kPageBytes = 4096;
  History(uint64_t base, uint64_t bytes);
  ~History();
  History(const History&) = delete;

  // Calls body(cell, address of the cell) for each cell of the range, which it makes and splits as needed, until it
  // says false. `alike`: afterwards all of them hold the same, and become one.
  template <class Body> bool each(uint64_t address, uint64_t bytes, bool alike, Body body) {
    uint64_t end = address + bytes;
    for (uint64_t at = address; at < end;) {
      uint64_t page = (at - base_) / kPageBytes, pageBegin = base_ + page * kPageBytes;
      uint32_t from = uint32_t(at - pageBegin), to = uint32_t(std::min<uint64_t>(end - pageBegin, kPageBytes));
      auto& cells = pageAt(page);
      size_t first = cut(cells, from, to), k = first;
      for (; k < cells.size() && cells[k].begin < to; ++k)
        if (!body(cells[k], pageBegin + cells[k].begin)) return false;
      if (alike && k - first > 1) {
        cells[first].end = to;
        cells.erase(cells.begin() + long(first) + 1, cells.begin() + long(k));
      }
      at = pageBegin + to;
    }
    return true;
  }
  void forget(uint64_t address, uint64_t bytes);

 private:
  using Page = std::vector<Cell>;  // by begin, no overlap
  Page& pageAt(uint64_t index) {
    if (!pages_[index]) made_.push_back(pages_[index] = new Page);
    return *pages_[index];
  }
  // Cells that cover [from, to) exactly; gives the index of the first.
  static size_t cut(Page& cells, uint32_t from, uint32_t to);

  uint64_t base_, pageCount_;
  Page** pages_;  // lazily committed
  std::vector<Page*> made_;
};

}  // namespace tandem::interpreter::check
