"""The exceptions of the package."""


class CompileError(Exception):
    """A kernel that does not compile. The message is the rendered diagnostic: file, line, caret, notes."""


class OutOfResources(RuntimeError):
    """A compiled kernel needs more registers or shared memory than the GPU has; another configuration may fit."""


class RunError(RuntimeError):
    """A run ended early, on every rank: a wait's time was over, or a rank is gone. `reports` holds every report as a dict; the message is
    their text."""

    def __init__(self, reports):
        self.reports = reports
        super().__init__("\n" + "\n".join(r["text"] for r in reports if r["severity"] == "error"))

    def add_places(self, notes):
        """Appends where the hosts were, when a report is about them."""
        if any(r["kind"] == "deadlock" or not r["file"] for r in self.reports if r["severity"] == "error"):
            self.args = (self.args[0] + "".join(notes),)


class SimulationError(RunError):
    """The simulator found an error."""


class SimulationWarning(UserWarning):
    """Something suspicious that did not change this run, such as a signal left non-zero at exit."""
