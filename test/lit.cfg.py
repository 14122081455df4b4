# This configures lit, which runs the text tests of every room. It knows no room; a build's paths come from
# lit.site.cfg.py.
import os
import shutil
import sys

import lit.formats

config.test_format = lit.formats.ShTest(execute_external=False)
config.excludes = ["Inputs", "CMakeLists.txt"]
config.environment["PATH"] = os.pathsep.join([config.tandem_tools, config.llvm_tools, config.environment["PATH"]])
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%tandem_source", config.tandem_source))
config.substitutions.append(("%llvm_include", os.path.join(os.path.dirname(config.llvm_tools), "include")))
config.substitutions.append(("%python", sys.executable))
# The assembler of NVIDIA's toolkit, where it is found as tandemc finds it.
if any(map(shutil.which, (os.environ.get("TANDEM_PTXAS", ""), "ptxas", "/usr/local/cuda/bin/ptxas"))):
    config.available_features.add("ptxas")
# NVSHMEM as a package of this Python, or where the environment says.
for folder in filter(None, (os.environ.get("TANDEM_NVSHMEM"), *(f"{p}/nvidia/nvshmem" for p in sys.path if p))):
    if os.path.isfile(f"{folder}/lib/libnvshmem_device.bc"):
        config.available_features.add("nvshmem")
        config.environment["TANDEM_NVSHMEM"] = folder
        break
