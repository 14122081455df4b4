// Kernels from files and text, and their specialisations.
#include "api/kernel.h"
#include "compiler/driver/compile.h"
#include <fstream>
#include <sstream>

namespace tandem {

Kernel Kernel::fromFile(const std::string& path, const std::string& name) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read `" + path + "`");
  std::stringstream text;
  text << in.rdbuf();
  return fromText(text.str(), path, name);
}

Kernel Kernel::fromText(const std::string& text, const std::string& fileName, const std::string& name) {
  auto impl = std::make_shared<Impl>();
  impl->text = text;
  impl->fileName = fileName;
  impl->name = name;
  return Kernel(std::move(impl));
}

const std::string& Kernel::name() const { return impl_->name; }

std::shared_ptr<td_program> Kernel::Impl::specialise(const std::string& signature, const std::string& constants,
                                                     int numWarps) {
  std::lock_guard lock(mutex);
  auto& program = programs[signature + ";" + constants + ";" + std::to_string(numWarps)];
  if (program) return program;
  auto request = compiler::requestForText(text, fileName, name, signature, constants, numWarps);
  if (!request.error.empty()) throw Error(request.error);
  td_program* compiled = nullptr;
  if (td_compile(request.text.c_str(), &compiled)) throw Error(td_last_error());
  program = {compiled, td_program_release};
  return program;
}

}  // namespace tandem
