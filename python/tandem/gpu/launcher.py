"""The launcher of a kernel with CUDA arrays: it keeps the calls it knows, and asks here for the others."""

import functools
import inspect
import json

from .. import _tandem
from ..errors import CompileError
from ..host.call import bind_call, grid_sizes, launch_flags
from ..kernel.names import constexpr
from ..kernel.request import specialized
from ..kernel.scalars import annotated_type
from .arguments import Arguments, is_cuda_array, letter_of, telling
from . import compiled as compiled_kernels
from .compiled import CompiledKernel, compile_request, prepare
from .device import current_device, is_available, target_of
from .streams import stream_handle, torch_stream


def _compiled(kernel, arguments, options, device, is_warmup, overlapping):
    """(the compiled kernel, the reads of host values that it rests on). `overlapping`: pairs of parameters whose memory may be the
    same, where that of others is not; None: any may be."""

    def for_overlapping(pairs):
        return _compiled(kernel, arguments, given_options, device, is_warmup, sorted({*overlapping, *pairs}))

    def compile_it(request):
        made = CompiledKernel(kernel, compile_request(request), launch_options, device, arguments.specs, overlapping or (), for_overlapping)
        if compiled_kernels.after_compilation:
            compiled_kernels.after_compilation(made, is_warmup)
        return made

    given_options, options = options, {**options, "target": target_of(device)}
    promise = {} if overlapping is None else {"overlapping": overlapping}
    key = (json.dumps([arguments.specs, options, promise], sort_keys=True), *arguments.builder.items)
    launch_options = {k: v for k, v in options.items() if k != "target"}
    with kernel.compiling:
        return specialized(
            kernel.gpu_kernels,
            key,
            arguments.builder,
            lambda: kernel.request(arguments.specs, options, arguments.builder, **promise),
            compile_it,
        )


_NO_LAUNCH = -1


def _call(kernel, key, device, stream, grid, args, kwargs):
    """A call the launcher does not know yet: on a GPU when there is a CUDA array among the arguments, else simulated."""
    if not any(map(is_cuda_array, (*args, *kwargs.values()))):
        return kernel.simulate(grid, args, kwargs)
    values, options, given_stream = bind_call(kernel, args, kwargs)
    arguments = Arguments(kernel)
    for parameter in kernel.parameters:
        arguments.add(parameter, values[parameter.name])
    device = device if device >= 0 else arguments.device if arguments.device >= 0 else current_device() if is_available() else 0
    promises = sum(map(telling, values.values())) > 1
    is_warmup = bool(kwargs.get("warmup"))
    compiled, reads = _compiled(kernel, arguments, options, device, is_warmup, [] if promises else None)
    if not is_warmup:
        compiled, reads = compiled.serving(values, reads)
    flags = compiled.flags = launch_flags(kwargs)
    if not is_warmup:
        prepare(compiled.handle, device)
        stream = stream if key is not None else stream_handle(given_stream, device)
        sizes = grid_sizes(grid, values, options)
        _tandem.gpu_launch(compiled.handle, device, stream, *sizes, arguments.words, len(arguments.words), flags)
    if key is not None and "?" not in arguments.packs:
        flags, pairs = (_NO_LAUNCH, ()) if is_warmup else (flags, compiled.pairs)
        kernel.gpu_launcher.add(key, compiled.handle, arguments.packs.encode(), flags, options, tuple(reads), pairs, compiled)
    return compiled


def _miss(kernel, key, device, stream, grid, args, kwargs):
    try:
        return _call(kernel, key, device, stream, grid, args, kwargs)
    except CompileError as error:
        raise error.with_traceback(None) from None  # the kernel's mistake: frames of this package would hide it


def _kind(kernel, parameter):
    if kernel.is_constexpr(parameter):
        return "c"
    if parameter.name in kernel.do_not_specialize:
        return "n"
    if parameter.name in kernel.do_not_specialize_on_alignment:
        return "a"
    return "t" if annotated_type(parameter) else "r"


def make_launcher(kernel):
    """The launcher of a JITFunction."""

    def classify(value):
        letter = letter_of(value)
        if letter == "t" and type(value).__module__.startswith("torch"):
            launcher.stream_of = torch_stream()
        return letter

    kinds = "".join(_kind(kernel, p) for p in kernel.parameters).encode()
    launcher = _tandem.GpuLauncher(
        tuple(kernel.arg_names),
        kinds,
        tuple(p.default for p in kernel.parameters),
        inspect.Parameter.empty,
        constexpr,
        classify,
        functools.partial(_miss, kernel),
    )
    return launcher
