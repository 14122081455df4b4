// The builtin table: row lists put together, and the look-ups on it.
#include "compiler/frontend/builtin/library.h"
#include "compiler/frontend/builtin/rows.h"
#include <set>
#include <unordered_map>

namespace tandem::frontend {

const char* wordOf(Caller caller) {
  switch (caller) {
    case Caller::Compiler: return "the compiler";
    case Caller::Program: return "the program";
    case Caller::Thread: return "each thread";
    case Caller::Warp: return "the threads of a warp together";
    case Caller::Block: return "all threads of the program together";
  }
  return "?";
}

namespace builtin {

Rows allRows() {
  Rows rows;
  for (auto add : {addProgramRows,     addShapeRows,       addMathRows,        addMemoryRows,        addDescriptorRows,
                   addAtomicRows,      addReduceRows,      addDotRows,         addDebugRows,         addHintRows,
                   addDTypeRows,       addLanguageRows,    addLibdeviceRows,   addDistributedRows,   addVectorRows,
                   addSmemRows,        addShmemPutRows,    addShmemTypedRows,  addShmemSignalRows,   addShmemTeamRows,
                   addShmemAtomicRows, addExtraThreadRows, addExtraMemoryRows, addExtraMultimemRows, addTmaRows,
                   addExternRows,      addAliasRows})
    add(rows);
  return rows;
}

static const std::unordered_map<std::string, Builtin>& table() {
  static const auto rows = [] {
    std::unordered_map<std::string, Builtin> map;
    for (Builtin& row : allRows()) {
      std::string name = row.name;
      map.try_emplace(name, std::move(row));
    }
    return map;
  }();
  return rows;
}

Constants allConstants() {
  Constants list;
  for (auto add : {addDTypeConstants, addModuleConstants, addShmemConstants, addTmaConstants}) add(list);
  return list;
}

static const std::unordered_map<std::string, Value>& constants() {
  static const auto map = [] {
    Constants list = allConstants();
    return std::unordered_map<std::string, Value>(list.begin(), list.end());
  }();
  return map;
}

Builtin unsupported(const std::string& name, const std::string& reason) {
  return {name,
          "*args, **kwargs",
          {"Not supported: " + reason + ".", Caller::Compiler},
          [name, reason](Context& c, const Arguments&) -> Value {
            c.fail("unsupported", "`" + name + "` is not supported: " + reason);
          }};
}

}  // namespace builtin

const Builtin* findBuiltin(const std::string& canonicalName) {
  auto found = builtin::table().find(canonicalName);
  return found == builtin::table().end() ? nullptr : &found->second;
}

std::optional<Value> findConstant(const std::string& canonicalName) {
  auto found = builtin::constants().find(canonicalName);
  if (found == builtin::constants().end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> namesOf(const std::string& canonicalModule) {
  std::set<std::string> names;
  auto take = [&](const std::string& name) {
    if (name.size() <= canonicalModule.size() + 1 || !name.starts_with(canonicalModule) ||
        name[canonicalModule.size()] != '.')
      return;
    std::string rest = name.substr(canonicalModule.size() + 1);
    if (rest.find('.') == std::string::npos) names.insert(rest);
  };
  for (const auto& [name, row] : builtin::table()) take(name);
  for (const auto& [name, value] : builtin::constants()) take(name);
  for (const auto& [name, function] : builtin::libraryFunctions()) take(name);
  return {names.begin(), names.end()};
}

}  // namespace tandem::frontend
