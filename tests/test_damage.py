"""What fuzzing found once: each as small as it can be, so that it never comes back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import rlviz
from rlviz.errors import NotAnExport
from rlviz.view.compose import compose
from rlviz.view.page import page
from tests.small_reports import pids, refused, write

if TYPE_CHECKING:
    from pathlib import Path

ODD = os.fsdecode(b"worker_\xff.sqlite")


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    try:
        (tmp_path / ODD).touch()
    except OSError:
        pytest.skip("file names are UTF-8 here")
    return tmp_path / ODD


def test_a_file_name_that_is_no_utf_8_is_loaded_and_drawn(odd: Path) -> None:
    write(odd, 1)
    run = rlviz.load(odd)
    assert run.reports["report"].to_list() == [r"worker_\udcff.sqlite"]
    page(compose(run)).encode()


def test_a_bad_file_of_such_a_name_is_named_and_keeps_no_other_from_loading(odd: Path) -> None:
    write(odd.with_name("good.sqlite"), 1)
    message = refused(odd, NotAnExport)
    assert r"worker_\udcff.sqlite" in message
    message.encode()
    (odd.parent / os.fsdecode(b"\xff.qdstrm")).write_bytes(b"")
    run = rlviz.load(odd.parent)
    assert pids(run) == [1]
    assert {r"worker_\udcff.sqlite", r"\udcff.qdstrm"} < set(run.reports["report"])
