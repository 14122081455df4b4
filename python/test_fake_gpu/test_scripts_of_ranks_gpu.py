"""Scripts of Triton-distributed and NVSHMEM on ranks that are GPUs, over the fake driver: its memory is the host's, so that PyTorch's
tensors over it can be the host's, too."""

import os
import pathlib
import subprocess
import sys

import pytest
from gpu_fake import LIBRARY, assembler, needs_fake  # noqa: F401

pytest.importorskip("torch")

import tandem

pytestmark = needs_fake
PACKAGES = pathlib.Path(tandem.__file__).parent.parent
HEAD = """
import ctypes, os, types
import torch

from tandem.compat.ranks import gpus

gpus._bytes_at = lambda address, count, device: torch.frombuffer((ctypes.c_uint8 * count).from_address(address), dtype=torch.uint8)
torch.cuda.synchronize = lambda device=None: None
torch.cuda.current_stream = lambda device=None: types.SimpleNamespace(cuda_stream=0)
begin_group = torch.distributed.init_process_group
torch.distributed.init_process_group = lambda backend: begin_group(backend.split(",")[0].partition(":")[2])

import nvshmem.core
import triton_dist
from triton_dist.utils import (CUDA_CHECK, NVSHMEM_SIGNAL_DTYPE, cuda, dist_print, finalize_distributed, initialize_distributed,
                               nvshmem_barrier_all_on_stream, nvshmem_create_tensor, nvshmem_create_tensors, nvshmem_free_tensor_sync)
"""


def run(folder, assembler, script, ranks=2, bindings=True):
    path = folder / "script.py"
    path.write_text(HEAD + script)
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    environment = {**kept, **assembler, "PYTHONPATH": f"{PACKAGES}:{folder}", "TANDEM_CUDA_DRIVER": str(LIBRARY)}
    (folder / "cuda").mkdir()  # cuda-python, or what is left where it is not installed
    (folder / "cuda" / "__init__.py").touch()
    if bindings:
        (folder / "cuda" / "bindings").mkdir()
        for name in ("__init__", "driver", "runtime"):
            (folder / "cuda" / "bindings" / f"{name}.py").touch()
    command = [sys.executable, "-m", "tandem", "run", "--target", "cuda", "--compat", "--ranks", str(ranks), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def test_symmetric_tensors_and_streams(tmp_path, assembler):
    done = run(
        tmp_path,
        assembler,
        """
group = initialize_distributed()
rank, size = group.rank(), group.size()
assert (rank, size) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])) == (nvshmem.core.my_pe(), nvshmem.core.n_pes())
all_of_them = nvshmem_create_tensors((4, 8), torch.bfloat16, rank, size)
signal = nvshmem_create_tensor((1,), NVSHMEM_SIGNAL_DTYPE)
assert [(tuple(t.shape), t.dtype) for t in all_of_them] == [((4, 8), torch.bfloat16)] * size
all_of_them[rank].fill_(rank)
signal.zero_()
nvshmem_barrier_all_on_stream(torch.cuda.current_stream())
row = all_of_them[rank][1]
other = nvshmem.core.get_peer_tensor(row, 1 - rank)
assert other.data_ptr() - all_of_them[1 - rank].data_ptr() == row.data_ptr() - all_of_them[rank].data_ptr()
nvshmem.core.put_signal(row, all_of_them[rank][0], signal, 3, remote_pe=1 - rank)
nvshmem.core.signal_wait(signal, 3)
nvshmem.core.barrier()
assert (all_of_them[rank][1] == 1 - rank).all() and (all_of_them[rank][0] == rank).all(), all_of_them[rank]
assert cuda.__name__ == "cuda.bindings.driver"
dist_print("rank", rank, need_sync=True, allowed_ranks="all")
signal.zero_()
nvshmem_free_tensor_sync(all_of_them[rank])
nvshmem_free_tensor_sync(signal)
finalize_distributed()
""",
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:2]) == ["rank 0", "rank 1"]


def test_without_cuda_python(tmp_path, assembler):
    done = run(tmp_path, assembler, "initialize_distributed()\ncuda.cuInit(0)\n", bindings=False)
    assert done.returncode == 1 and "`cuInit` is cuda-python's, which is not installed: `pip install cuda-bindings`" in done.stderr


def test_a_tensor_that_is_not_symmetric(tmp_path, assembler):
    done = run(tmp_path, assembler, "nvshmem.core.get_peer_tensor(torch.zeros(4), 0)\n")
    assert done.returncode == 1 and "this tensor is not in symmetric memory" in done.stderr


def test_a_script_that_uses_none_of_it_is_no_rank(tmp_path, assembler):
    path = tmp_path / "script.py"
    path.write_text("import tandem, triton, triton.language as tl\nassert tandem.host.current.rank_team() is None\nprint('alone')\n")
    environment = {**{k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}, **assembler}
    environment |= {"PYTHONPATH": str(PACKAGES), "TANDEM_CUDA_DRIVER": str(LIBRARY)}
    command = [sys.executable, "-m", "tandem", "run", "--target", "cuda", "--compat", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout) == (0, "alone\n"), done.stderr
