// The registry is the table of every name that kernels may use: each row is a builtin with its canonical name, its
// Python signature and the code that emits it. The Python package makes its stub modules from this table, so there is
// one list of names.
#pragma once
#include "compiler/frontend/semantic/context.h"
#include <span>

namespace tandem::frontend {

// Arguments after binding, by parameter name. A missing parameter holds its default.
class Arguments {
 public:
  const Value& operator[](std::string_view parameter) const;
  const std::vector<Value>& rest() const { return rest_; }  // *args
  std::map<std::string, Value> values_;
  std::vector<Value> rest_;
};

// `name` is canonical: "<module>.<name>" with module one of
//   tl, tl.math, tl.extra.libdevice, dl, shmem (libshmem_device), extra (language_extra), dl.tma
// `signature` is Python text without `def` ("pointer, mask=None, other=None, *, volatile=False"); a trailing "*args"
// collects the rest.
struct Builtin {
  std::string name;
  std::string signature;
  std::function<Value(Context&, const Arguments&)> emit;
};

// Every builtin: rows of tl, math, libdevice, dl, shmem, extra and the constants (dtypes, NVSHMEM_*, ...).
const Builtin* findBuiltin(const std::string& canonicalName);
// A constant of ours: a dtype ("tl.float16"), a number ("shmem.NVSHMEM_CMP_EQ"), a class that is also callable.
std::optional<Value> findConstant(const std::string& canonicalName);
// A function of ours written in our language (library/*.py): its source file and its name there.
struct LibraryFunction {
  SourceFilePtr file;
  std::string function;
};
std::optional<LibraryFunction> findLibraryFunction(const std::string& canonicalName);
// Binds a call; fails with kind "argument-count", "unknown-argument" or "missing-argument", naming the builtin and its
// signature.
Arguments bind(Context&, const Builtin&, const std::vector<Value>& positional,
               const std::map<std::string, Value>& keywords);
// Methods of tensors and descriptors: tensor.to -> "tl.tensor.to", descriptor.load -> "tl.tensor_descriptor.load",
// vector.recast -> "dl.vector.recast". They are builtins whose first parameter is `self`.

// The canonical module of an importable module name, or nothing: "triton.language", "tandem.language" -> "tl";
// "triton.language.math" -> "tl.math"; "triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice" ->
// "tl.extra.libdevice"; "triton_dist.language", "tandem.dist" -> "dl"; "triton_dist.language.extra.libshmem_device",
// "tandem.shmem" -> "shmem"; "triton_dist.language.extra.language_extra", "triton.language.extra.cuda.language_extra",
// ... -> "extra".
std::optional<std::string> canonicalModule(std::string_view importedName);
// Every importable name with its canonical module.
std::map<std::string, std::string> importNames();
// "use `tl.sqrt`" for a name of Python's math, NumPy or PyTorch, such as "sqrt" or "bool_"; "" when the language has nothing like it.
std::string hintForHostName(const std::string& name);
// All names of a canonical module, sorted, for star imports and for the Python package.
std::vector<std::string> namesOf(const std::string& canonicalModule);

}  // namespace tandem::frontend
