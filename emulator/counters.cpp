#include "emulator/counters.h"
#include "emulator/block.h"
#include "emulator/warp.h"
#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tandem::emulator {
namespace {

constexpr uint32_t kBanks = 32, kBankBytes = 4, kSectorBytes = 32, kWavefrontBytes = kBanks * kBankBytes;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ')
      out += c;
    else
      out += ' ';
  }
  return out + '"';
}

std::string fields(const Counts& c) {
  auto field = [](const char* name, uint64_t value) {
    return std::string("\"") + name + "\": " + std::to_string(value);
  };
  std::string out =
      field("warp_instructions", c.warpInstructions) + ", " + field("thread_instructions", c.threadInstructions);
  if (c.wavefronts)
    out += ", " + field("shared_wavefronts", c.wavefronts) + ", " + field("ideal_wavefronts", c.idealWavefronts);
  if (c.requests) out += ", " + field("global_requests", c.requests) + ", " + field("global_sectors", c.sectors);
  return out;
}

// The opcode with its state space: "ld.global", "mma".
std::string classOf(const Statement& statement) {
  std::string out = statement.opcode;
  for (const std::string& modifier : statement.modifiers)
    if (modifier == "global" || modifier == "param" || modifier == "local" || modifier.starts_with("shared"))
      return out + "." + modifier.substr(0, modifier.find(':'));
  return out;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  warpInstructions += other.warpInstructions;
  threadInstructions += other.threadInstructions;
  wavefronts += other.wavefronts;
  idealWavefronts += other.idealWavefronts;
  sectors += other.sectors;
  requests += other.requests;
  return *this;
}

Counters::Counters(std::shared_ptr<const Program> program)
    : program_(std::move(program)), counts_(program_->code.size()) {
  for (const Instruction& in : program_->code) accesses_.push_back(accessOf(*program_->statements[in.statement]));
}

Counters::Access Counters::accessOf(const Statement& statement) {
  static const std::set<std::string, std::less<>> kOpcodes = {"ld", "st", "atom", "red"};
  Access out;
  if (!kOpcodes.contains(statement.opcode)) return out;
  uint32_t parts = 1;
  bool isElsewhere = false;
  for (const std::string& modifier : statement.modifiers) {
    if (modifier == "v2" || modifier == "v4" || modifier == "v8") parts = uint32_t(modifier[1] - '0');
    if (modifier.starts_with("shared")) out.isShared = true;
    isElsewhere |= modifier.starts_with("param") || modifier == "local" || modifier == "const";
    if (std::optional<Type> type = typeNamed(modifier)) out.bytes = bitsOf(*type) / 8;
  }
  out.bytes = isElsewhere ? 0 : out.bytes * parts;
  return out;
}

// Shared memory serves as many lanes at once as ask for one wavefront's bytes at most; words of one bank in different
// rows come one after the other.
void Counters::note(Warp& warp, const Instruction& in, uint32_t at, unsigned active) {
  Counts& counts = counts_[at];
  ++counts.warpInstructions;
  counts.threadInstructions += unsigned(std::popcount(active));
  const Access& access = accesses_[at];
  if (!access.bytes) return;
  const uint64_t* addresses = warp.lanes(in.slots[0]);
  if (!access.isShared) {
    std::set<uint64_t> sectors;
    eachLane(active, [&](unsigned lane) {
      uint64_t begin = addresses[lane] + uint64_t(in.immediate);
      for (uint64_t sector = begin / kSectorBytes; sector <= (begin + access.bytes - 1) / kSectorBytes; ++sector)
        sectors.insert(sector);
    });
    counts.sectors += sectors.size();
    ++counts.requests;
    return;
  }
  const unsigned together = std::max(1u, std::min(kLanes, kWavefrontBytes / access.bytes));
  for (unsigned first = 0; first < kLanes; first += together) {
    std::array<std::set<uint64_t>, kBanks> words;
    for (unsigned lane = first; lane < first + together; ++lane)
      if (active >> lane & 1) {
        uint64_t begin = addresses[lane] + uint64_t(in.immediate);
        for (uint64_t word = begin / kBankBytes; word <= (begin + access.bytes - 1) / kBankBytes; ++word)
          words[word % kBanks].insert(word);
      }
    size_t most = 0;
    for (auto& bank : words) most = std::max(most, bank.size());
    counts.wavefronts += most;
    counts.idealWavefronts += most != 0;
  }
}

void Counters::takeBack(uint32_t at, unsigned active) {
  --counts_[at].warpInstructions;
  counts_[at].threadInstructions -= unsigned(std::popcount(active));
}

std::string Counters::json() const {
  Counts total;
  std::map<std::string, Counts> classes;
  std::map<const Statement*, Counts> lines;
  for (size_t at = 0; at < counts_.size(); ++at) {
    const Statement* statement = program_->statements[program_->code[at].statement];
    total += counts_[at];
    if (counts_[at].warpInstructions) {
      classes[classOf(*statement)] += counts_[at];
      lines[statement] += counts_[at];
    }
  }
  std::string out = "{\"kernel\": " + quoted(program_->function->name) +
                    ", \"launches\": " + std::to_string(launches_) + ", " + fields(total) + ",\n \"classes\": {";
  const char* comma = "";
  for (auto& [name, counts] : classes) out += comma + quoted(name) + ": {" + fields(counts) + "}", comma = ",\n  ";
  out += "},\n \"lines\": [";
  comma = "";
  std::vector<const Statement*> order;
  for (auto& [statement, counts] : lines) order.push_back(statement);
  std::sort(order.begin(), order.end(), [](const Statement* a, const Statement* b) { return a->line < b->line; });
  for (const Statement* statement : order) {
    auto file = program_->module->files.find(statement->sourceFile);
    std::string source =
        file == program_->module->files.end() ? "" : file->second + ":" + std::to_string(statement->sourceLine);
    out += comma + std::string("{\"line\": ") + std::to_string(statement->line) +
           ", \"text\": " + quoted(statement->text) + ", \"source\": " + quoted(source) + ", " +
           fields(lines[statement]) + "}";
    comma = ",\n  ";
  }
  return out + "]}";
}

}  // namespace tandem::emulator
