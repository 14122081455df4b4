// Copies of a program's registers, and the way threads take their values from one to another.
#include "interpreter/vm/register_files.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {
namespace {

std::vector<Slot>& slotsOf(Run& run, uint32_t file) { return file == run.file ? run.slots : run.files.at(file); }

void dropSlots(Machine& m, Run& run, std::vector<Slot>& slots) {
  for (size_t r = 0; run.prepared && r < slots.size(); ++r)
    if (!run.info(Register(r)).isInline) m.pool.drop(slots[r].buffer);
  slots.clear();
}

// A register that is live in both files keeps, for each thread, the value in that thread's file.
void takeRegister(Machine& m, Run& run, Register r, Buffer* from, const LaneMask& mask) {
  Buffer*& to = run.slots[r].buffer;
  if (!from || from == to) return;
  if (!to) {
    ++from->references;
    to = from;
    return;
  }
  if (!isLanes(run, r)) return;
  uint64_t bytes = registerBytes(run, r), each = bytes / run.lanes;
  if (from->bytes < bytes || to->bytes < bytes) return;
  Result merged(m, run, r);
  memcpy(merged.data(), to->data(), bytes);
  for (uint32_t lane = 0; lane < run.lanes; ++lane)
    if (mask.has(lane)) memcpy(merged.data() + lane * each, from->data() + lane * each, each);
  merged.commit();
}

}  // namespace

void selectFile(Run& run, uint32_t file) {
  if (file == run.file) return;
  auto found = run.files.find(file);
  run.files[run.file] = std::move(run.slots);
  run.slots = std::move(found->second);
  run.files.erase(found);
  run.file = file;
}

uint32_t cloneFile(Run& run, uint32_t file) {
  std::vector<Slot> copy = slotsOf(run, file);
  for (size_t r = 0; r < copy.size(); ++r)
    if (!run.info(Register(r)).isInline && copy[r].buffer) ++copy[r].buffer->references;
  uint32_t made = ++run.lastFile;
  run.files[made] = std::move(copy);
  return made;
}

void takeLanes(Machine& m, Run& run, uint32_t file, const LaneMask& mask) {
  if (file == run.file) return;
  const std::vector<Slot>& from = run.files.at(file);
  for (size_t r = 0; r < from.size(); ++r)
    if (!run.info(Register(r)).isInline) takeRegister(m, run, Register(r), from[r].buffer, mask);
}

void dropUnusedFile(Machine& m, Run& run, uint32_t file) {
  if (file == run.file) return;
  for (const ThreadGroup& g : run.parked)
    if (g.file == file) return;
  auto found = run.files.find(file);
  if (found == run.files.end()) return;
  dropSlots(m, run, found->second);
  run.files.erase(found);
}

void dropRegisters(Machine& m, Run& run) {
  dropSlots(m, run, run.slots);
  for (auto& [number, slots] : run.files) dropSlots(m, run, slots);
  run.files.clear();
}

}  // namespace tandem::interpreter
