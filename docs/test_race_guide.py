"""The examples of the guide to race reports: each gives the report that the page shows, and is clean when mended as the page says."""

import pytest
from race_guide import FOUND, mended, report_of, sections

SECTIONS = sections()
PUBLISHED = sections(FOUND)
KINDS = {
    "race",
    "signal-misuse",
    "leftover-signal",
    "deadlock",
    "livelock",
    "out-of-bounds",
    "use-after-free",
    "uninitialised-read",
    "misaligned",
    "asymmetric-allocation",
    "divergent-block-operation",
    "collective-mismatch",
    "bad-rank",
    "double-free",
    "division-by-zero",
    "unfinished-put",
    "unfinished-bulk-copy",
    "mbarrier-misuse",
    "schedule-dependent",
    "scope",
}


def test_every_kind_has_an_example():
    reports = "".join(report for _, _, report, _ in SECTIONS)
    assert len(SECTIONS) == 25 and len(PUBLISHED) == 2
    assert {kind for kind in KINDS if f": {kind}: " in reports} == KINDS


@pytest.mark.parametrize("title, script, report, mend", SECTIONS + PUBLISHED, ids=[s[0] for s in SECTIONS + PUBLISHED])
def test_example(title, script, report, mend, tmp_path):
    ranks = 1 if "--ranks 1 " in report else 2
    assert report_of(script, tmp_path, ranks) == report
    assert report_of(mended(script, mend), tmp_path, ranks) == ""
