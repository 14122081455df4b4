"""The kinds of reports, and which are the more serious ones."""

_BY_SERIOUSNESS = (
    ("out-of-bounds", "use-after-free", "misaligned", "uninitialised-read", "double-free", "invalid-free", "bad-rank", "index-out-of-range",
     "asymmetric-allocation", "out-of-memory", "divergent-block-operation", "non-uniform-warp-operation",
     "mbarrier-misuse", "bad-tensor-map", "unsupported", "assertion", "assume-violated"),
    ("race", "signal-misuse", "collective-mismatch", "history-exceeded", "deadlock", "livelock", "limit-exceeded"),
    ("unfinished-put", "unfinished-bulk-copy", "leftover-signal", "schedule-dependent"),
    ("scope",),
    ("portability",))
KINDS = frozenset(kind for group in _BY_SERIOUSNESS for kind in group)


def seriousness(kind):
    """Sorts kinds: the most serious is the least. A word that is none comes first."""
    return next((place for place, group in enumerate(_BY_SERIOUSNESS) if kind in group), -1)
