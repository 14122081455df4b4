// A choice is one file, written beside its place and renamed into it.
#include "ops/tuned_files.h"
#include "compiler/driver/build_id.h"
#include "compiler/driver/image_cache.h"
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace tandem::ops {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;

// The packets of a meeting are small, so the text that a rank tells the others is small too.
constexpr size_t kMostFiles = 1000, kMostBytes = 4096;

std::string nameOf(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return out;
}

template <class T>
T wholeNumber(const json& value) {
  if (!value.is_number_integer() || !std::in_range<T>(value.get<int64_t>())) throw std::invalid_argument(value.dump());
  return T(value.get<int64_t>());
}

std::string contentOf(const fs::path& place, size_t most) {
  std::ifstream in(place, std::ios::binary);
  std::string bytes(most, '\0');
  in.read(bytes.data(), std::streamsize(most));
  bytes.resize(size_t(std::max<std::streamsize>(0, in.gcount())));
  return bytes;
}

}  // namespace

std::string TunedFiles::textOf(const TunedChoice& choice) const {
  return json{{"m", choice.m},
              {"blocks", choice.blocks},
              {"measured", choice.measured},
              {"untuned", choice.untuned},
              {"config", table_.write(&choice.config)}}
      .dump();
}

TunedChoice TunedFiles::fromText(const std::string& text) const {
  json in = json::parse(text);
  TunedChoice choice{wholeNumber<int64_t>(in.at("m")), in.at("blocks"), {}, in.at("measured"), in.at("untuned")};
  table_.read(in.at("config"), &choice.config);
  return choice;
}

TunedFiles::TunedFiles(const Table& table, const GemmSizes& sizes, const GemmConfig& given, const std::string& gpu)
    : table_(table) {
  std::string cache = compiler::cacheFolder();
  if (gpu.empty() || cache.empty()) return;
  std::string name = table.name + "-n" + std::to_string(sizes.n) + "-k" + std::to_string(sizes.k) + "-" +
                     std::to_string(sizes.ranks) + "ranks-" + tandem::name(sizes.dtype);
  folder_ =
      fs::path(cache) / "tuned" / (nameOf(gpu) + "-" + nameOf(compiler::buildId())) / nameOf(name + table.key(&given));
}

std::vector<TunedChoice> TunedFiles::read() const {
  std::vector<TunedChoice> out;
  std::error_code failed;
  if (folder_.empty()) return out;
  for (fs::directory_iterator file(folder_, failed), end; !failed && file != end && out.size() < kMostFiles;
       file.increment(failed)) {
    if (file->path().extension() != ".json") continue;
    try {
      out.push_back(fromText(contentOf(file->path(), kMostBytes)));
    } catch (const std::exception&) {
      continue;
    }
  }
  return out;
}

void TunedFiles::store(const TunedChoice& choice) const {
  static std::atomic<unsigned> count{0};
  if (folder_.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  fs::path place = fs::path(folder_) / ("m" + std::to_string(choice.m) + (choice.blocks ? "" : "-pointers") + ".json");
  fs::path beside = place;
  beside += "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
  std::ofstream out(beside, std::ios::binary);
  out << textOf(choice);
  out.close();
  if (out) fs::rename(beside, place, failed);
  if (!out || failed) fs::remove(beside, failed);
}

}  // namespace tandem::ops
