// The history has each byte's last accesses: pages of cells, where a cell is a range of bytes with the same accesses.
// Its size is proportional to the memory touched. It knows nothing of order: the code that walks the cells compares.
#pragma once
#include "interpreter/check/actors.h"
#include <algorithm>
#include <deque>
#include <memory>

namespace tandem::interpreter::check {

// The accesses to a range that a later one may still race with: those not superseded.
struct Cell {
  uint16_t begin = 0, end = 0;             // within the page
  Stamp write, read;                       // the last of each; none: actor 0
  uint32_t moreWrites = 0, moreReads = 0;  // lists of others; 0: none
};

class History {
 public:
  static constexpr uint32_t kPageBytes = 4096;
  History(uint64_t base, uint64_t bytes);
  ~History();
  History(const History&) = delete;

  // Calls body(cell, address of the cell) for each cell of the range, which it makes and splits as needed, until it
  // says false. `alike`: body leaves the same content in all cells, which then become one.
  template <class Body>
  bool each(uint64_t address, uint64_t bytes, bool alike, Body body) {
    uint64_t end = address + bytes;
    for (uint64_t at = address; at < end;) {
      uint64_t page = (at - base_) / kPageBytes, pageBegin = base_ + page * kPageBytes;
      uint32_t from = uint32_t(at - pageBegin), to = uint32_t(std::min<uint64_t>(end - pageBegin, kPageBytes));
      auto& cells = pageAt(page);
      size_t first = cut(cells, from, to), k = first;
      for (; k < cells.size() && cells[k].begin < to; ++k)
        if (!body(cells[k], pageBegin + cells[k].begin)) return false;
      if (alike && k - first > 1) {
        cells[first].end = uint16_t(to);
        for (size_t j = first + 1; j < k; ++j) release(cells[j]);
        cells.erase(cells.begin() + long(first) + 1, cells.begin() + long(k));
      }
      at = pageBegin + to;
    }
    return true;
  }
  // Calls body(cell, address of the cell) for each cell of the range that there is.
  template <class Body>
  void eachMade(uint64_t address, uint64_t bytes, Body body) {
    for (uint64_t page = (address - base_) / kPageBytes; page <= (address + bytes - 1 - base_) / kPageBytes; ++page) {
      if (!pages_[page]) continue;
      for (Cell& cell : *pages_[page])
        if (uint64_t at = base_ + page * kPageBytes + cell.begin; at >= address && at < address + bytes) body(cell, at);
    }
  }
  void forget(uint64_t address, uint64_t bytes);

  // The list of a cell, which it makes at need. Its address holds until the list is dropped.
  std::vector<Stamp>& list(uint32_t& index);
  void drop(uint32_t& index);

 private:
  using Page = std::vector<Cell>;  // by begin, no overlap
  Page& pageAt(uint64_t index) {
    if (!pages_[index]) made_.push_back(pages_[index] = new Page);
    return *pages_[index];
  }
  // Cells that cover [from, to) exactly; gives the index of the first.
  size_t cut(Page& cells, uint32_t from, uint32_t to);
  // A copy of the cell for another range.
  Cell part(const Cell& cell, uint32_t from, uint32_t to);
  void release(Cell& cell) {
    drop(cell.moreWrites);
    drop(cell.moreReads);
  }

  uint64_t base_, pageCount_;
  Page** pages_;  // lazily committed
  std::vector<Page*> made_;
  std::deque<std::vector<Stamp>> lists_{1};
  std::vector<uint32_t> freeLists_;
};

}  // namespace tandem::interpreter::check
