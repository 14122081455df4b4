"""The exceptions of the package."""

import re
import sys


def with_cells(text):
    """The text with a notebook's cells named as IPython's own errors name them, `Cell In[3]`, in place of the files that stand for them."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)

    def named(match):
        found = name_of(match[1])
        return f"{' '.join(found)}:{match[2]}" if found else match[0]

    return re.sub(r"^(\S[^:\n]*):(\d+)", named, text, flags=re.MULTILINE)


class KernelError(Exception):
    """What can be wrong with one kernel, or with one of its configurations, before it runs."""


class CompileError(KernelError):
    """A kernel that does not compile. The message is the rendered diagnostic: file, line, caret, notes."""

    def __str__(self):
        return with_cells(super().__str__())


class OutOfResources(KernelError, RuntimeError):
    """A compiled kernel needs more registers or shared memory than the GPU has; another configuration may fit."""


class AutotunerError(OutOfResources):
    """None of a kernel's configurations is left, or none compiles and fits the GPU."""


class RankStopped(RuntimeError):
    """A call of a rank that cannot go on because another rank's host has failed."""


STUCK = ("deadlock", "livelock")  # kinds of runs in which nothing can change any more


def is_about_hosts(report):
    """Returns true if a report is to say where the ranks' host code was."""
    return report["severity"] == "error" and (report["kind"] in (*STUCK, "limit-exceeded") or not report["file"])


class RunError(RuntimeError):
    """A run ended early, on every rank: a wait's time was over, or a rank is gone. `reports` holds every report as a dict; the message is
    their text, or their first line where the rank has been told before (`again`). `raised` are the (rank, exception) of hosts that failed
    by themselves in that run."""

    def __init__(self, reports, again=False):
        self.reports = reports
        self.again = again
        self.raised = []
        texts = [r["text"] for r in reports if r["severity"] == "error"]
        super().__init__(f"the run has failed already: {texts[0].splitlines()[0]}" if again else "\n" + "\n".join(texts))

    def __str__(self):
        return with_cells(super().__str__())

    def add_places(self, notes):
        """Appends where the hosts were, when a report is about them."""
        if any(is_about_hosts(r) for r in self.reports):
            self.args = (self.args[0] + "".join(notes),)


class SimulationError(RunError):
    """The simulator found an error."""


class SimulationWarning(UserWarning):
    """Something suspicious that did not change this run, such as a signal left non-zero at exit."""
