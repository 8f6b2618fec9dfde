"""Keep tests apart from the machine: its cache folder, its speed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from rlviz.view.timeline import Timeline

# As in a log: on a slow machine there would be a progress bar among what a command says. tqdm reads
# it when it is imported.
os.environ["TQDM_DISABLE"] = "1"

# A busy machine must not fail a test: what takes long is measured in benchmarks.
settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")


@pytest.fixture(autouse=True, scope="session")
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    # for the whole session, before any module-wide fixture loads a report
    patch = pytest.MonkeyPatch()
    patch.setenv("RLVIZ_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    """A simulated run of four GPUs and three steps, with more events than a view has marks."""
    import rlviz
    from rlviz.demo import write

    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=1, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=12_000)
    return rlviz.Timeline(rlviz.load(folder))
