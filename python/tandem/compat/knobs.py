"""`triton.knobs`: settings that programs read and write. Each is an environment variable of Triton's; setting one sets the variable.

Tandem heeds `runtime.debug`, `autotuning.print`, `runtime.jit_post_compile_hook` and the paths of the tools; the others say what the
environment says and change nothing.
"""

import contextlib
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import typing

from ..gpu import compiled


class _Variable:
    """A knob kept in an environment variable."""

    def __init__(self, name, default=None, read=str):
        self.name, self.default, self.read = name, default, read

    def __get__(self, group, owner=None):
        if group is None:
            return self
        text = os.environ.get(self.name)
        if text is not None:
            return self.read(text)
        return self.default() if callable(self.default) else self.default

    def __set__(self, group, value):
        os.environ[self.name] = str(int(value)) if isinstance(value, bool) else str(value)

    def __delete__(self, group):
        os.environ.pop(self.name, None)


def _flag(name, default=False):
    return _Variable(name, default, lambda text: text.lower() in ("1", "true", "on", "yes", "y"))


def _class_at(place):
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


class NvidiaTool(typing.NamedTuple):
    """A program of CUDA: where it is, and CUDA's version."""

    path: str
    version: str

    @staticmethod
    def from_path(path):
        """None where no such program answers."""
        try:
            text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.search(r"release (\d+\.\d+)", text)
        return NvidiaTool(path, found.group(1)) if found else None


class _Tool(_Variable):
    def __init__(self, program):
        super().__init__(f"TRITON_{program.upper().replace('-', '_')}_PATH")
        self.program = program.removesuffix("-blackwell")

    def __get__(self, group, owner=None):
        if group is None:
            return self
        for path in (os.environ.get(self.name), shutil.which(self.program), f"/usr/local/cuda/bin/{self.program}"):
            if path and (tool := NvidiaTool.from_path(path)):
                return tool
        raise RuntimeError(f"`{self.program}`, which comes with CUDA, is not found; `{self.name}` may name it")


class base_knobs:
    """A group of knobs."""

    @property
    def knob_descriptors(self):
        return {name: knob for name, knob in vars(type(self)).items() if isinstance(knob, _Variable)}

    @property
    def knobs(self):
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self):
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other

    def reset(self):
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextlib.contextmanager
    def scope(self):
        """What is set meanwhile is as before afterwards."""
        variables = {knob.name: os.environ.get(knob.name) for knob in self.knob_descriptors.values()}
        others = dict(self.__dict__)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(others)
            for name, value in variables.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


class HookChain:
    """Functions that Triton calls around launches and loads. Tandem calls none there, and says so to who adds one."""

    def __init__(self, reversed=False):
        self.calls, self.reversed = [], reversed

    def add(self, func):
        raise RuntimeError("Tandem calls no hooks around launches and loads; `tandem.launch(..., trace=True)` shows what runs when")

    def remove(self, func):
        pass

    def __bool__(self):
        return False  # callers then make nothing for it to be called with

    def __call__(self, *args, **kwargs):
        pass


class cache_knobs(base_knobs):
    home_dir = _Variable("TRITON_HOME", lambda: os.path.expanduser("~/"))
    dir = _Variable("TRITON_CACHE_DIR", lambda: cache.get_triton_dir("cache"))
    dump_dir = _Variable("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump"))
    override_dir = _Variable("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override"))
    manager_class = _Variable("TRITON_CACHE_MANAGER", None, _class_at)
    remote_manager_class = _Variable("TRITON_REMOTE_CACHE_BACKEND", None, _class_at)

    def get_triton_dir(self, dirname):
        return str(pathlib.Path(self.home_dir) / ".triton" / dirname)


class build_knobs(base_knobs):
    cc = _Variable("CC")


class compilation_knobs(base_knobs):
    override = _flag("TRITON_KERNEL_OVERRIDE")
    dump_ir = _flag("TRITON_KERNEL_DUMP")
    store_binary_only = _flag("TRITON_STORE_BINARY_ONLY")
    always_compile = _flag("TRITON_ALWAYS_COMPILE")
    use_ir_loc = _Variable("USE_IR_LOC")
    enable_asan = _flag("TRITON_ENABLE_ASAN")
    disable_line_info = _flag("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = _flag("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = _flag("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = _Variable("TRITON_INSTRUMENTATION_MODE", "")
    listener = None


class autotuning_knobs(base_knobs):
    cache = _flag("TRITON_CACHE_AUTOTUNING")
    print = _flag("TRITON_PRINT_AUTOTUNING")


class JitFunctionInfo(typing.NamedTuple):
    """A compiled function as hooks see it."""

    module: str
    name: str
    jit_function: object


class runtime_knobs(base_knobs):
    interpret = _flag("TRITON_INTERPRET")
    debug = _flag("TRITON_DEBUG")
    override_arch = _Variable("TRITON_OVERRIDE_ARCH")
    jit_cache_hook = None
    add_stages_inspection_hook = None

    def __init__(self):
        self.launch_enter_hook, self.launch_exit_hook = HookChain(), HookChain(reversed=True)
        self.kernel_load_start_hook, self.kernel_load_end_hook = HookChain(), HookChain(reversed=True)
        self._post_compile = None

    @property
    def jit_post_compile_hook(self):
        """Called with keyword arguments after each compilation: key, repr, fn (a JitFunctionInfo), compile (a dict), ..."""
        return self._post_compile

    @jit_post_compile_hook.setter
    def jit_post_compile_hook(self, hook):
        self._post_compile = hook
        compiled.after_compilation = _caller_of(hook) if hook else None


def _caller_of(hook):
    def call(kernel, is_warmup):
        function = kernel.function
        key = function.cache_key
        signature = {spec["name"]: spec.get("type", "constexpr") for spec in kernel.specs}
        constants = {spec["name"]: spec["constexpr"] for spec in kernel.specs if "constexpr" in spec}
        info = {
            "key": key,
            "signature": signature,
            "device": kernel.device,
            "constants": constants,
            **kernel.options,
            "extern_libs": None,
            "configs": [],
            "specialization_data": None,
            "is_warmup": is_warmup,
        }
        hook(
            key=key,
            repr=repr(kernel),
            fn=JitFunctionInfo(function.module, function.__name__, function),
            compile=info,
            is_manual_warmup=is_warmup,
            already_compiled=False,
        )

    return call


class language_knobs(base_knobs):
    fp32_default = _Variable("TRITON_F32_DEFAULT")
    default_fp_fusion = _flag("TRITON_DEFAULT_FP_FUSION", True)


class nvidia_knobs(base_knobs):
    cuobjdump, nvdisasm, ptxas, ptxas_blackwell = map(_Tool, ("cuobjdump", "nvdisasm", "ptxas", "ptxas-blackwell"))
    disable_ptxas_opt = _flag("DISABLE_PTXAS_OPT")
    ptxas_options = _Variable("PTXAS_OPTIONS")
    mock_ptx_version = _Variable("TRITON_MOCK_PTX_VERSION")
    dump_nvptx, dump_ptxas_log = _flag("NVPTX_ENABLE_DUMP"), _flag("TRITON_DUMP_PTXAS_LOG")
    libdevice_path, libcuda_path = _Variable("TRITON_LIBDEVICE_PATH"), _Variable("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    use_buffer_ops, use_buffer_atomics = _flag("AMDGCN_USE_BUFFER_OPS", True), _flag("AMDGCN_USE_BUFFER_ATOMICS", True)
    use_async_copy = _flag("TRITON_HIP_USE_ASYNC_COPY")
    use_block_pingpong = _Variable("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = _Variable("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")


class proton_knobs(base_knobs):
    disable = _flag("TRITON_PROTON_DISABLE")


build, cache, compilation, autotuning = build_knobs(), cache_knobs(), compilation_knobs(), autotuning_knobs()
runtime, language, nvidia, amd, proton = runtime_knobs(), language_knobs(), nvidia_knobs(), amd_knobs(), proton_knobs()


def refresh_knobs():
    """Reads the environment again, which every read of a knob does."""
