"""Operators that ranks call in another order: the report names the two calls and their lines."""

import re

import numpy as np
import pytest
import tandem
from tandem.ops import AllReduce, ReduceScatter


@pytest.mark.parametrize("queued", [False, True], ids=["hosts wait", "queued"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_another_order(ranks, queued):
    def main(team, swapped):
        sums, parts = AllReduce(team, 64, "fp32"), ReduceScatter(team, ranks, 16, "fp32")
        x, rows = np.ones(64, np.float32), np.ones((ranks, 16), np.float32)
        if queued:
            x, rows = team.local_from_array(x), team.local_from_array(rows)
        for call in (lambda: sums(x), lambda: parts(rows, ranks))[:: -1 if swapped and team.rank == ranks - 1 else 1]:
            call()
        team.synchronize()
        sums.close()
        parts.close()

    assert tandem.launch(main, ranks=ranks, args=(False,), check=True).reports == []
    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, ranks=ranks, args=(True,), check=True)
    mismatch, deadlock = error.value.reports
    assert (mismatch["kind"], deadlock["kind"]) == ("collective-mismatch", "deadlock")
    verb = r"has call 1 of .* on one stream" if queued else "comes to call 1 of .*"
    assert re.search(rf"rank {ranks - 1} {verb}", mismatch["message"]), mismatch["text"]
    assert "`all_reduce`" in mismatch["message"] and "`reduce_scatter`" in mismatch["message"]
    assert len(set(re.findall(r"test_operators\.py:(\d+)", mismatch["text"]))) == 1  # both calls stand on one line here
