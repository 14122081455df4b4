// The row lists that make up the builtin table, one function an area; inside this room only.
#pragma once
#include "compiler/frontend/builtin/registry.h"
#include "compiler/frontend/semantic/semantic.h"

namespace tandem::frontend::builtin {

using Rows = std::vector<Builtin>;
using Constants = std::vector<std::pair<std::string, Value>>;

void addProgramRows(Rows&);
void addShapeRows(Rows&);
void addMathRows(Rows&);
void addMemoryRows(Rows&);
void addDescriptorRows(Rows&);
void addAtomicRows(Rows&);
void addReduceRows(Rows&);
void addDotRows(Rows&);
void addDebugRows(Rows&);
void addHintRows(Rows&);
void addDTypeRows(Rows&);
void addLanguageRows(Rows&);
void addLibdeviceRows(Rows&);
void addDistributedRows(Rows&);
void addVectorRows(Rows&);
void addSmemRows(Rows&);
void addShmemPutRows(Rows&);
void addShmemTypedRows(Rows&);
void addShmemSignalRows(Rows&);
void addShmemTeamRows(Rows&);
void addShmemAtomicRows(Rows&);
void addExtraThreadRows(Rows&);
void addExtraMemoryRows(Rows&);
void addExtraMultimemRows(Rows&);
void addTmaRows(Rows&);
void addExternRows(Rows&);
// Tensor methods and the other spellings of rows above; runs after every other list.
void addAliasRows(Rows&);

void addDTypeConstants(Constants&);
void addModuleConstants(Constants&);
void addShmemConstants(Constants&);
void addTmaConstants(Constants&);

// Every row and every constant, in the order of the lists; names are unique.
Rows allRows();
Constants allConstants();

// A public name of Triton or Triton-distributed that kernels of ours cannot use; calling it fails with kind
// "unsupported".
Builtin unsupported(const std::string& name, const std::string& reason);

}  // namespace tandem::frontend::builtin
