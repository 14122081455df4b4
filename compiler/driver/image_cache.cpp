// One file a kernel, written beside its place and renamed into it: a seal that binds the image to its key, and the
// image.
#include "compiler/driver/image_cache.h"
#include "abi/kernel_image_io.h"
#include "base/nvshmem_install.h"
#include "compiler/codegen/nvidia/tool_search.h"
#include "compiler/driver/build_id.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>
#include <mutex>
#include <sstream>
#include <unistd.h>

namespace tandem::compiler {
namespace {
namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string toolIdentity(bool withNvshmem) {
  std::vector<std::string> searched;
  std::string identity;
  if (withNvshmem) {
    std::optional<NvshmemInstall> install = findNvshmem(searched);
    identity = (install ? fileIdentity(install->bitcode) : "none") + "\n";
  }
  for (const auto& tool : {codegen::findPtxas({}, searched), codegen::findLibdevice({}, searched)})
    identity += (tool ? fileIdentity(*tool) : "none") + "\n";
  return identity;
}

constexpr size_t kSealBytes = 64;

std::string sealOf(const std::string& key, std::string_view image) {
  llvm::SHA256 hash;
  hash.update(key);
  hash.update(llvm::StringRef(image));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

void tellOnce(const std::string& folder, const std::string& why) {
  static std::once_flag told;
  std::call_once(told, [&] {
    std::fprintf(
        stderr,
        "tandem: compiled kernels are not kept in `%s`: %s; TANDEM_CACHE_DIR names another folder, TANDEM_CACHE=0 keeps none\n",
        folder.c_str(), why.c_str());
  });
}

fs::path placeOf(const std::string& folder, const std::string& key) {
  return fs::path(folder) / "images" / key.substr(0, 2) / key;
}

}  // namespace

std::string cacheFolder() {
  if (environment("TANDEM_CACHE") == "0") return "";
  if (std::string named = environment("TANDEM_CACHE_DIR"); !named.empty()) return named;
  if (std::string caches = environment("XDG_CACHE_HOME"); !caches.empty()) return caches + "/tandem";
  std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.cache/tandem";
}

std::string imageKey(const std::string& requestJson) {
  llvm::SHA256 hash;
  hash.update(buildId() + "\n" + toolIdentity(requestJson.find("+nvshmem") != std::string::npos));
  hash.update(requestJson);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::shared_ptr<abi::KernelImage> findImage(const std::string& folder, const std::string& key) {
  std::ifstream in(placeOf(folder, key), std::ios::binary);
  if (!in) return nullptr;
  std::ostringstream bytes;
  bytes << in.rdbuf();
  std::string_view entry = bytes.view(), bytesOfImage = entry.substr(std::min(entry.size(), kSealBytes));
  if (entry.substr(0, kSealBytes) != sealOf(key, bytesOfImage)) return nullptr;
  std::string why;
  std::optional<abi::KernelImage> image = abi::readImage(bytesOfImage, why);
  return image ? std::make_shared<abi::KernelImage>(std::move(*image)) : nullptr;
}

std::string storeImage(const std::string& folder, const std::string& key, const abi::KernelImage& image) {
  static std::atomic<unsigned> count{0};
  fs::path place = placeOf(folder, key), beside = place;
  std::error_code failed, ignored;
  fs::create_directories(place.parent_path(), failed);
  if (failed) return failed.message();
  beside += "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
  std::string bytes = abi::writeImage(image);
  errno = 0;
  std::ofstream out(beside, std::ios::binary);
  out << sealOf(key, bytes) << bytes;
  out.close();
  if (!out)
    failed = std::error_code(errno, std::generic_category());
  else
    fs::rename(beside, place, failed);
  if (!failed) return "";
  fs::remove(beside, ignored);
  return failed.message();
}

CompiledImage compileCached(const std::string& requestJson) {
  std::string folder = cacheFolder();
  bool isDumped = !environment("TANDEM_DUMP").empty();  // then it has to be compiled
  if (folder.empty() || isDumped) return compileToImage(requestJson);
  std::string key = imageKey(requestJson);
  CompiledImage out;
  if ((out.image = findImage(folder, key))) return out;
  out = compileToImage(requestJson);
  if (!out.image) return out;
  if (std::string why = storeImage(folder, key, *out.image); !why.empty()) tellOnce(folder, why);
  return out;
}

}  // namespace tandem::compiler
