// The file: magic, sizes of the four parts, a checksum; then a JSON header, the cubin, the PTX, the roomy cubin.
#include "abi/kernel_image_io.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace tandem::abi {
namespace {
using nlohmann::json;

struct Prefix {
  char magic[8];
  uint64_t headerBytes, cubinBytes, ptxBytes, roomyBytes;
  uint64_t checksum;  // over all bytes after the prefix
};
static_assert(sizeof(Prefix) == 48);

uint64_t checksumOf(std::string_view bytes) {  // FNV-1a: finds damage, not malice
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : bytes) hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

json toJson(const HostExpr& e) {
  json out = json::array();
  for (const HostExpr::Step& s : e.steps) {
    out.push_back(int(s.op));
    if (s.op <= HostExpr::Op::Constant) out.push_back(s.value);
  }
  return out;
}

json toJson(const std::vector<HostExpr>& list) {
  json out = json::array();
  for (const HostExpr& e : list) out.push_back(toJson(e));
  return out;
}

json toJson(const TensorMapRecipe& r) {
  return {{"element", int(r.element)},      {"base", toJson(r.base)}, {"shape", toJson(r.shape)},
          {"strides", toJson(r.strides)},   {"box", r.box},           {"nan_fill", r.nanFill},
          {"swizzle_bytes", r.swizzleBytes}};
}

json toJson(const Remark& r) {
  return {{"kind", wordOf(r.kind)}, {"outcome", wordOf(r.outcome)},
          {"stage", r.stage},       {"message", r.message},
          {"help", r.help},         {"file", r.file},
          {"line", r.line},         {"column", r.column}};
}

json headerOf(const KernelImage& image) {
  json params = json::array(), maps = json::array(), remarks = json::array();
  for (ParamType t : image.params) params.push_back(int(t));
  for (const TensorMapRecipe& r : image.tensorMaps) maps.push_back(toJson(r));
  for (const Remark& r : image.remarks) remarks.push_back(toJson(r));
  return {{"name", image.name},
          {"target", image.target},
          {"threads", image.threads},
          {"cluster", image.cluster},
          {"params", params},
          {"shared_bytes", image.sharedBytes},
          {"registers", image.registers},
          {"tensor_maps", maps},
          {"spill_bytes", image.spillBytes},
          {"roomy_blocks", image.roomyBlocks},
          {"uses_ranks", image.usesRanks},
          {"uses_grid_barrier", image.usesGridBarrier},
          {"folds", image.folds},
          {"apart", image.apart},
          {"remarks", remarks}};
}

// nlohmann's own conversions wrap silently; a size that does not fit is damage.
int intOf(const json& value) {
  int64_t wide = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max())
                     ? std::numeric_limits<int64_t>::max()
                     : value.get<int64_t>();
  if (!value.is_number_integer() || wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    throw std::runtime_error("a number in the header does not fit");
  return int(wide);
}

template <class Enum> Enum enumOf(const json& value, Enum last) {
  int number = intOf(value);
  if (number < 0 || number > int(last))
    throw std::runtime_error("the header has an unknown word " + std::to_string(number));
  return Enum(number);
}

// The number of a word in its table.
template <class Enum, size_t n> Enum wordOf(const json& value, const std::string_view (&table)[n]) {
  auto found = std::find(table, table + n, value.get<std::string>());
  if (found == table + n) throw std::runtime_error("the header has an unknown word " + value.dump());
  return Enum(found - table);
}

HostExpr exprOf(const json& steps) {
  HostExpr out;
  for (size_t i = 0; i < steps.size(); ++i) {
    HostExpr::Step s{enumOf(steps.at(i), HostExpr::Op::And)};
    if (s.op <= HostExpr::Op::Constant) s.value = steps.at(++i).get<int64_t>();
    out.steps.push_back(s);
  }
  return out;
}

std::vector<HostExpr> exprsOf(const json& list) {
  std::vector<HostExpr> out;
  for (const json& e : list) out.push_back(exprOf(e));
  return out;
}

TensorMapRecipe recipeOf(const json& j) {
  TensorMapRecipe r;
  r.element = enumOf(j.at("element"), TensorMapRecipe::Element::F64);
  r.base = exprOf(j.at("base"));
  r.shape = exprsOf(j.at("shape"));
  r.strides = exprsOf(j.at("strides"));
  for (const json& size : j.at("box")) r.box.push_back(intOf(size));
  r.swizzleBytes = intOf(j.at("swizzle_bytes"));
  r.nanFill = j.at("nan_fill").get<bool>();
  return r;
}

Remark remarkOf(const json& j) {
  Remark r;
  r.kind = wordOf<RemarkKind>(j.at("kind"), kRemarkKinds);
  r.outcome = wordOf<RemarkOutcome>(j.at("outcome"), kRemarkOutcomes);
  r.stage = j.at("stage").get<std::string>();
  r.message = j.at("message").get<std::string>();
  r.help = j.at("help").get<std::string>();
  r.file = j.at("file").get<std::string>();
  r.line = intOf(j.at("line"));
  r.column = intOf(j.at("column"));
  return r;
}

KernelImage imageOf(const json& header) {
  KernelImage image;
  image.name = header.at("name").get<std::string>();
  image.target = header.at("target").get<std::string>();
  image.threads = intOf(header.at("threads"));
  image.sharedBytes = intOf(header.at("shared_bytes"));
  for (size_t i = 0; i < 3; ++i) image.cluster[i] = intOf(header.at("cluster").at(i));
  for (const json& t : header.at("params")) image.params.push_back(enumOf(t, ParamType::F64));
  for (const json& r : header.at("tensor_maps")) image.tensorMaps.push_back(recipeOf(r));
  image.registers = intOf(header.at("registers"));
  image.spillBytes = intOf(header.at("spill_bytes"));
  image.roomyBlocks = intOf(header.at("roomy_blocks"));
  image.usesRanks = header.at("uses_ranks").get<bool>();
  for (const json& r : header.at("remarks")) image.remarks.push_back(remarkOf(r));
  image.apart = header.at("apart").get<decltype(image.apart)>();
  image.usesGridBarrier = header.at("uses_grid_barrier").get<bool>();
  image.folds = header.at("folds").get<bool>();
  return image;
}

}  // namespace

std::string writeImage(const KernelImage& image) {
  std::string body = headerOf(image).dump(-1, ' ', false, json::error_handler_t::replace);
  Prefix prefix;
  std::memcpy(prefix.magic, kImageMagic.data(), sizeof prefix.magic);
  prefix.headerBytes = body.size();
  prefix.cubinBytes = image.cubin.size();
  prefix.ptxBytes = image.ptx.size();
  prefix.roomyBytes = image.roomyCubin.size();
  body += image.cubin;
  body += image.ptx;
  body += image.roomyCubin;
  prefix.checksum = checksumOf(body);
  return std::string(reinterpret_cast<const char*>(&prefix), sizeof prefix) + body;
}

std::optional<KernelImage> readImage(std::string_view bytes, std::string& error) {
  Prefix prefix;
  if (bytes.size() < sizeof prefix || bytes.substr(0, 6) != kImageMagic.substr(0, 6)) {
    error = "these " + std::to_string(bytes.size()) + " bytes are not a kernel image";
    return std::nullopt;
  }
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  if (bytes.substr(0, 8) != kImageMagic) {
    error = "the kernel image is of version `" + std::string(bytes.substr(6, 2)) + "`, this library reads version `" +
            std::string(kImageMagic.substr(6)) + "`";
    return std::nullopt;
  }
  std::string_view body = bytes.substr(sizeof prefix);
  uint64_t rest = body.size();
  bool fits = true;
  for (uint64_t part : {prefix.headerBytes, prefix.cubinBytes, prefix.ptxBytes, prefix.roomyBytes}) {
    fits &= part <= rest;
    rest -= std::min(part, rest);
  }
  if (!fits || rest || checksumOf(body) != prefix.checksum) {
    error = "the kernel image is damaged";
    return std::nullopt;
  }
  try {
    KernelImage image = imageOf(json::parse(body.substr(0, prefix.headerBytes)));
    image.cubin = body.substr(prefix.headerBytes, prefix.cubinBytes);
    image.ptx = body.substr(prefix.headerBytes + prefix.cubinBytes, prefix.ptxBytes);
    image.roomyCubin = body.substr(prefix.headerBytes + prefix.cubinBytes + prefix.ptxBytes);
    error = problemOf(image);
    if (error.empty()) return image;
  } catch (const std::exception& e) {
    error = std::string("the kernel image's header is wrong: ") + e.what();
  }
  return std::nullopt;
}

}  // namespace tandem::abi
