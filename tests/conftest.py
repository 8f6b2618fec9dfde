"""Keep tests apart from the machine: its cache folder, its nsys."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine must not fail a test: what takes long is measured in benchmarks.
settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")


@pytest.fixture(autouse=True, scope="session")
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    # for the whole session, before any module-wide fixture loads a report
    patch = pytest.MonkeyPatch()
    patch.setenv("RLVIZ_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
