"""Keep tests apart from the machine: its cache folder, its speed."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

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
