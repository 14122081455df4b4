// Kernels from files and text, and their specialisations.
#include "api/kernel.h"
#include "compiler/driver/compile.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tandem {

Kernel Kernel::fromFile(const std::string& path, const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw Error("`" + path + "` is a directory, not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read `" + path + "`");
  std::stringstream text;
  text << in.rdbuf();
  Kernel kernel = fromText(text.str(), path, name);
  kernel.impl()->find = compiler::modulesBeside(path);
  return kernel;
}

Kernel Kernel::fromText(const std::string& text, const std::string& fileName, const std::string& name,
                        const std::map<std::string, std::string>& modules) {
  auto impl = std::make_shared<Impl>();
  impl->text = text;
  impl->fileName = fileName;
  impl->name = name;
  impl->find = [modules](const std::string& module) -> std::optional<compiler::ImportedText> {
    std::string file = module + ".py";
    std::replace(file.begin(), file.end() - 3, '.', '/');
    auto found = modules.find(file);
    if (found == modules.end()) return {};
    return compiler::ImportedText{file, found->second};
  };
  return Kernel(std::move(impl));
}

const std::string& Kernel::name() const { return impl_->name; }

std::string Kernel::Impl::requestFor(const Specialisation& wanted) const {
  auto made = compiler::requestForText(text, fileName, name, wanted.signature, wanted.constants, wanted.numWarps,
                                       {"`arguments`", "`constants`", true}, find);
  if (!made.error.empty()) throw Error(made.error);
  nlohmann::json request = nlohmann::json::parse(made.text);
  request["options"]["num_stages"] = wanted.numStages;
  if (wanted.maxRegisters) request["options"]["maxnreg"] = wanted.maxRegisters;
  request["options"]["target"] = wanted.target;
  return request.dump();
}

std::shared_ptr<td_program> Kernel::Impl::specialise(const std::string& key,
                                                     const std::function<Specialisation()>& wanted) {
  std::lock_guard lock(mutex);
  if (auto found = programs.find(key); found != programs.end()) return found->second;
  td_program* compiled = nullptr;
  if (td_compile(requestFor(wanted()).c_str(), &compiled)) throw Error(td_last_error());
  return programs[key] = {compiled, td_program_release};
}

void Constants::insert(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries)
    if (std::ranges::find(entries_, entry.first, &Entry::first) == entries_.end()) entries_.push_back(entry);
}

Constant& Constants::operator[](const std::string& name) {
  auto found = std::ranges::find(entries_, name, &Entry::first);
  return found == entries_.end() ? entries_.emplace_back(name, Constant()).second : found->second;
}

}  // namespace tandem
