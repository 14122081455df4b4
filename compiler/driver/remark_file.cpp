// LLVM's own serialiser writes the file.
#include "compiler/driver/remark_file.h"
#include <llvm/Remarks/Remark.h>
#include <llvm/Remarks/RemarkSerializer.h>
#include <llvm/Support/raw_ostream.h>

namespace tandem::compiler {

std::string remarksAsYaml(const abi::KernelImage& image) {
  using llvm::remarks::Type;
  static constexpr Type types[] = {Type::Passed, Type::Missed, Type::Analysis};
  static_assert(std::size(types) == std::size(abi::kRemarkOutcomes));
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto serialiser = llvm::cantFail(llvm::remarks::createRemarkSerializer(llvm::remarks::Format::YAML, stream));
  for (const abi::Remark& r : image.remarks) {
    llvm::remarks::Remark remark;
    remark.RemarkType = types[size_t(r.outcome)];
    remark.PassName = r.stage;
    remark.RemarkName = llvm::StringRef(abi::wordOf(r.kind));
    remark.FunctionName = image.name;
    if (!r.file.empty()) remark.Loc = {r.file, r.line, r.column};
    auto add = [&](llvm::StringRef key, llvm::StringRef value) {
      llvm::remarks::Argument argument;
      argument.Key = key;
      argument.Val = value;
      remark.Args.push_back(argument);
    };
    add("String", r.message);
    if (!r.help.empty()) add("Help", r.help);
    serialiser->emit(remark);
  }
  return text;
}

}  // namespace tandem::compiler
