"""Makes the names of Triton and Triton-distributed mean Tandem before the kernels are imported, and runs a program
everywhere."""

import pytest
import tandem
import tandem.compat

tandem.compat.install()


@pytest.fixture
def everywhere():
    """Runs main(team, *args) on several numbers of ranks and seeds; no run may leave a report."""

    def run(main, *args, ranks=(1, 2, 4, 8), seeds=range(3), **options):
        for size in ranks:
            for seed in seeds:
                assert tandem.launch(main, ranks=size, seed=seed, args=args, **options).reports == []

    return run
