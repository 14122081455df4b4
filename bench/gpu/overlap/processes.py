"""Starts one process a GPU with the variables a launcher sets, and ends those it started."""

import os
import socket
import subprocess
import sys

# NVLink multicast stays off: a program that uses it can put GPUs that others share out of service.
NO_MULTICAST = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Processes:
    """`ranks` processes of one script; each writes to its own log."""

    def __init__(self, ranks, script, arguments, log):
        self.logs = [f"{log}.rank{rank}.log" for rank in range(ranks)]
        port = str(free_port())
        self.children = []
        for rank in range(ranks):
            environment = {
                **os.environ,
                **NO_MULTICAST,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "LOCAL_WORLD_SIZE": str(ranks),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
            }
            with open(self.logs[rank], "w") as output:
                self.children.append(
                    subprocess.Popen(
                        [sys.executable, str(script), *map(str, arguments)],
                        env=environment,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        stdin=subprocess.DEVNULL,
                    )
                )

    def codes(self):
        """Exit codes; None for those that run."""
        return [child.poll() for child in self.children]

    def kill(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def tails(self, lines=12):
        """The last lines of each rank's log that failed first, or of all."""
        parts = []
        for rank, (path, code) in enumerate(zip(self.logs, self.codes())):
            with open(path, errors="replace") as log:
                parts.append(f"--- rank {rank}, exit code {code}\n" + "".join(log.readlines()[-lines:]))
        return "\n".join(parts)
