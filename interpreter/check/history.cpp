// Pages of cells: found by address, split where an access begins or ends inside a cell.
#include "interpreter/check/history.h"
#include <stdexcept>
#include <sys/mman.h>

namespace tandem::interpreter::check {

History::History(uint64_t base, uint64_t bytes) : base_(base), pageCount_(bytes / kPageBytes + 2) {
  void* p = mmap(nullptr, pageCount_ * sizeof(Page*), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw std::runtime_error("cannot reserve address space for the checker; is it limited (`ulimit -v`)?");
  pages_ = static_cast<Page**>(p);
}

History::~History() {
  for (Page* p : made_) delete p;
  munmap(pages_, pageCount_ * sizeof(Page*));
}

std::vector<Stamp>& History::list(uint32_t& index) {
  if (!index) {
    if (freeLists_.empty()) {
      index = uint32_t(lists_.size());
      lists_.emplace_back().reserve(4);
    } else {
      index = freeLists_.back();
      freeLists_.pop_back();
    }
  }
  return lists_[index];
}

void History::drop(uint32_t& index) {
  if (!index) return;
  lists_[index].clear();
  freeLists_.push_back(index);
  index = 0;
}

Cell History::part(const Cell& cell, uint32_t from, uint32_t to) {
  Cell c = cell;
  c.begin = uint16_t(from);
  c.end = uint16_t(to);
  c.moreWrites = c.moreReads = 0;
  if (cell.moreWrites) list(c.moreWrites) = lists_[cell.moreWrites];
  if (cell.moreReads) list(c.moreReads) = lists_[cell.moreReads];
  return c;
}

size_t History::cut(Page& cells, uint32_t from, uint32_t to) {
  // Most pages are cut into cells of one size, that of a tile's rows.
  if (cells.empty()) {
    cells.reserve(std::min<size_t>(kPageBytes / (to - from), 64));
  } else if (size_t guess = (from - cells[0].begin) / uint32_t(cells[0].end - cells[0].begin);
             guess < cells.size() && cells[guess].begin == from && cells[guess].end == to) {
    return guess;
  }
  auto first = std::partition_point(cells.begin(), cells.end(), [&](const Cell& c) { return c.end <= from; });
  size_t k = size_t(first - cells.begin());
  if (k < cells.size() && cells[k].begin == from && cells[k].end == to) return k;
  if (k < cells.size() && cells[k].begin < from) {
    Cell right = part(cells[k], from, cells[k].end);
    cells[k].end = uint16_t(from);
    cells.insert(cells.begin() + long(++k), right);
  }
  size_t result = k;
  for (uint32_t at = from; at < to; ++k) {
    if (k == cells.size() || cells[k].begin > at) {
      uint32_t end = k == cells.size() ? to : std::min<uint32_t>(to, cells[k].begin);
      Cell gap;
      gap.begin = uint16_t(at);
      gap.end = uint16_t(end);
      cells.insert(cells.begin() + long(k), gap);
    } else if (cells[k].end > to) {
      Cell right = part(cells[k], to, cells[k].end);
      cells[k].end = uint16_t(to);
      cells.insert(cells.begin() + long(k) + 1, right);
    }
    at = cells[k].end;
  }
  return result;
}

void History::forget(uint64_t address, uint64_t bytes) {
  uint64_t end = address + bytes;
  for (uint64_t at = address; at < end;) {
    uint64_t page = (at - base_) / kPageBytes, pageBegin = base_ + page * kPageBytes;
    uint64_t to = std::min(end, pageBegin + kPageBytes);
    if (Page* cells = pages_[page]) {
      uint32_t a = uint32_t(at - pageBegin), b = uint32_t(to - pageBegin);
      if (a == 0 && b == kPageBytes) {
        for (Cell& c : *cells) release(c);
        cells->clear();
      } else {
        size_t k = cut(*cells, a, b), last = k;
        for (; last < cells->size() && (*cells)[last].begin < b; ++last) release((*cells)[last]);
        cells->erase(cells->begin() + long(k), cells->begin() + long(last));
      }
    }
    at = to;
  }
}

}  // namespace tandem::interpreter::check
