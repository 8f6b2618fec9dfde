"""Which reports come from one machine, whatever it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from rlviz.reports.read import read_report
from rlviz.run.hosts import find_machines, hosts_of
from tests.exports import UTC_NS, Export

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.reports.report import Report

NEW = "3.25.0"
SECOND = 1_000_000_000


def report(
    folder: Path,
    host: str | None,
    gpus: dict[str, str] | None = None,
    *,
    boot_s: float | None = None,
    hardware: str | None = None,
    **settings: Any,
) -> Report:
    """A report of a host with these GPUs (UUID by bus), booted so long before."""
    number = len(list(folder.iterdir())) + 1
    schema = NEW if boot_s is not None else "3.20.2"
    environment = {"NSYS_HW_ID": hardware} if hardware is not None else {}
    settings = {"utc_ns": UTC_NS + number * 5 * SECOND, **settings}
    path = folder / f"w_{number}.sqlite"
    with Export(path, schema, pid=number, host=host, environment=environment, **settings) as export:
        if boot_s is not None:
            (session,) = export._rows["TARGET_INFO_SESSION_START_TIME"]
            session["systemClockNs"] = settings["utc_ns"] - UTC_NS + round(boot_s * SECOND)
        for place, (bus, uuid) in enumerate((gpus or {}).items()):
            export.gpu(uuid, bus, number=place, device=0 if not place else None)
        export.kernel(0, 10)
    return read_report(path)


def labels(*reports: Report) -> list[str | None]:
    return [host.label for host in hosts_of(find_machines(reports))]


def test_one_name_is_one_machine_if_nothing_speaks_against_it(tmp_path: Path) -> None:
    found = [report(tmp_path, "node", {f"{n}": f"gpu-{n}"}) for n in range(3)]
    assert labels(*found) == ["node"] * 3


def test_other_gpus_at_the_same_place_are_of_another_machine(tmp_path: Path) -> None:
    found = [report(tmp_path, "localhost", {"19:00": f"gpu-{n}"}) for n in range(3)]
    assert labels(*found) == ["localhost", "localhost (2)", "localhost (3)"]


def test_another_boot_is_another_machine(tmp_path: Path) -> None:
    found = [report(tmp_path, "node", boot_s=boot) for boot in (1000, 1000.9, 5000, 5000.2)]
    assert labels(*found) == ["node", "node", "node (2)", "node (2)"]


def test_a_gpu_in_common_is_one_machine_whatever_the_names_and_boots(tmp_path: Path) -> None:
    found = [
        report(tmp_path, "pod-b", {"19:00": "gpu-1"}, boot_s=35),
        report(tmp_path, "pod-a", {"1a:00": "gpu-2"}, boot_s=5000),
        report(tmp_path, "pod-c", {"19:00": "gpu-1", "1a:00": "gpu-2"}),
    ]
    assert labels(*found) == ["pod-a"] * 3


def test_two_names_with_one_boot_are_one_machine(tmp_path: Path) -> None:
    found = [
        report(tmp_path, "node-1", {"19:00": "gpu-1"}, boot_s=70_000),
        report(tmp_path, "pod-7", {"1a:00": "gpu-2"}, boot_s=70_000.0005),
    ]
    assert labels(*found) == ["node-1", "node-1"]


def test_machines_that_were_started_in_the_same_second_stay_apart(tmp_path: Path) -> None:
    found = [report(tmp_path, f"node-{n}", boot_s=70_000 + n / 10) for n in range(3)]
    assert labels(*found) == ["node-0", "node-1", "node-2"]


def test_machines_alike_in_everything_but_their_gpus_stay_apart(tmp_path: Path) -> None:
    found = [report(tmp_path, f"node-{n}", {"19:00": f"gpu-{n}"}, boot_s=70_000) for n in range(2)]
    assert labels(*found) == ["node-0", "node-1"]


def test_the_hardware_id_outweighs_the_name(tmp_path: Path) -> None:
    found = [
        report(tmp_path, "node", hardware="a"),
        report(tmp_path, "node", hardware="b"),
        report(tmp_path, "pod", hardware="a"),
    ]
    assert labels(*found) == ["node", "node (2)", "node"]


def test_reports_without_a_name_are_not_of_one_machine(tmp_path: Path) -> None:
    found = [report(tmp_path, None), report(tmp_path, None)]
    assert len(find_machines(found)) == 2
    assert labels(*found) == [None, None]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_the_order_of_reports_joins_no_machines(tmp_path: Path, order: tuple[int, ...]) -> None:
    made = [
        report(tmp_path, "node", {"19:00": "gpu-1"}),
        report(tmp_path, "node", {"19:00": "gpu-2"}),
        report(tmp_path, "node", {"19:00": "gpu-1"}),
    ]
    machines = find_machines([made[i] for i in order])
    assert sorted(len(machine.reports) for machine in machines) == [1, 2]


def test_a_bus_is_a_gpu_of_its_own_machine_only(tmp_path: Path) -> None:
    # no UUIDs, one name, boots a day apart: two GPUs
    for number in (1, 2):
        path = tmp_path / f"w_{number}.sqlite"
        with Export(path, NEW, pid=number, utc_ns=UTC_NS + number) as export:
            (session,) = export._rows["TARGET_INFO_SESSION_START_TIME"]
            session["systemClockNs"] = number * 86_400 * SECOND
            export.gpu(None, "0000:19:00.0")
            export.kernel(0, 10)
    run = rlviz.load(tmp_path)
    assert run.rows["row"].n_unique() == 2
    assert run.rows["host"].to_list() == ["node-1", "node-1 (2)"]


def test_a_process_number_in_two_machines_of_one_name_is_two_workers(tmp_path: Path) -> None:
    for number in (1, 2):
        path = tmp_path / str(number) / "w.sqlite"
        with Export(path, pid=149, utc_ns=UTC_NS, launch_ns=5) as export:
            export.gpu(f"gpu-{number}", "0000:19:00.0")
            export.kernel(0, 10 * number)
    run = rlviz.load(tmp_path)
    assert run.rows.height == 2
    assert run.rows["report"].to_list() == [["1/w.sqlite"], ["2/w.sqlite"]]
