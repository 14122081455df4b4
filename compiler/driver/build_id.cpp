// Reads the NT_GNU_BUILD_ID note of the loaded object that holds this code.
#include "compiler/driver/build_id.h"
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

namespace tandem::compiler {
namespace {

struct Search {
  uintptr_t inside;
  std::string id;
};

bool holds(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) & h = object.dlpi_phdr[i];
    if (h.p_type == PT_LOAD && address >= object.dlpi_addr + h.p_vaddr &&
        address < object.dlpi_addr + h.p_vaddr + h.p_memsz)
      return true;
  }
  return false;
}

std::string idInNotes(const char* at, size_t size) {
  static const char digits[] = "0123456789abcdef";
  auto padded = [](size_t n) { return (n + 3) & ~size_t(3); };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    size_t total = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (total > size) break;
    const char* name = at + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !std::memcmp(name, "GNU", 4)) {
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        uint8_t byte = uint8_t(name[4 + i]);
        id += digits[byte >> 4];
        id += digits[byte & 15];
      }
      return id;
    }
    at += total;
    size -= total;
  }
  return "";
}

int visit(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!holds(*object, search.inside)) return 0;
  for (int i = 0; i < object->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr) & h = object->dlpi_phdr[i];
    if (h.p_type == PT_NOTE)
      search.id = idInNotes(reinterpret_cast<const char*>(object->dlpi_addr + h.p_vaddr), h.p_memsz);
  }
  return 1;
}

std::string readBuildId() {
  Search search{reinterpret_cast<uintptr_t>(&visit), ""};
  dl_iterate_phdr(visit, &search);
  if (!search.id.empty()) return search.id;
  Dl_info info;
  return dladdr(reinterpret_cast<void*>(&visit), &info) && info.dli_fname ? fileIdentity(info.dli_fname) : "";
}

}  // namespace

const std::string& buildId() {
  static const std::string id = readBuildId();
  return id;
}

std::string fileIdentity(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s)) return path;
  return path + ":" + std::to_string(s.st_size) + ":" + std::to_string(s.st_mtim.tv_sec) + "." +
         std::to_string(s.st_mtim.tv_nsec);
}

}  // namespace tandem::compiler
