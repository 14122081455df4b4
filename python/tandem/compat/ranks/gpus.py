"""A script's rank on a GPU: PyTorch's tensors, streams and collectives are its own; symmetric memory, barriers and signals are those of the
process's team."""

import types

import torch

from ...session import init
from .rank import RankState


def _bytes_at(address, count, device):
    """Memory that a GPU can address as a tensor of bytes on it. PyTorch would take a peer's memory for another device's."""
    storage = torch._C._construct_storage_from_data_pointer(address, device, count)
    return torch.empty(0, dtype=torch.uint8, device=device).set_(storage, 0, (count,), (1,))


class GpuRank(RankState):
    on_gpu = True

    def __init__(self, team):
        super().__init__(team, team.size)
        self.device = torch.device("cuda", team.device)

    def stream(self, handle):
        return types.SimpleNamespace(queue=self.team.adopt(int(handle or 0)))

    @property
    def current(self):
        return self.stream(torch.cuda.current_stream(self.device).cuda_stream)

    @current.setter
    def current(self, stream):
        """PyTorch says which it is."""

    def synchronize(self):
        torch.cuda.synchronize(self.device)
        self.team.synchronize()

    def bytes_at(self, address, count, owner):
        return _bytes_at(address, count, self.device)


def begin():
    """Makes this process a rank, as its launcher's environment says."""
    return GpuRank(init())
