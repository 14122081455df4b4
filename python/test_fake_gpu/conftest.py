"""The tests of this folder have the fake driver; those that run after them in one process have the machine's again."""

import pytest
from gpu_fake import LIBRARY


@pytest.fixture(scope="module", autouse=True)
def fake_driver():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_CUDA_DRIVER", str(LIBRARY))
        yield
