"""The command's standard output, whose reader may go."""

import select
import sys


def nobody_reads():
    """Returns true if the reader of the output has gone."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))
