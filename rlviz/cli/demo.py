"""The command ``rlviz demo``: write the reports of a simulated run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlviz.cli.terminal import errors_told, on_terminal, tell
from rlviz.run.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["demo"]


def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder to write to.")] = Path(
        "demo-reports"
    ),
    framework: Annotated[str, typer.Option(help="nemo_rl, verl or rlinf.")] = "nemo_rl",
    colocated: Annotated[
        bool, typer.Option("--colocated", help="Synchronous, both roles on the same GPUs.")
    ] = False,
    hosts: Annotated[int, typer.Option(help="Hosts.")] = 2,
    policy_gpus: Annotated[int, typer.Option(help="GPUs of the policy, over all hosts.")] = 4,
    generation_gpus: Annotated[int, typer.Option(help="GPUs of generation, over all hosts.")] = 4,
    steps: Annotated[int, typer.Option(help="Training steps inside the capture.")] = 5,
    first_step: Annotated[
        int | None,
        typer.Option(help="Number of the first of them; by default the framework's.", min=1),
    ] = None,
    captures: Annotated[int, typer.Option(help="Reports a worker, one after the other.")] = 1,
    kernels_per_gpu: Annotated[int, typer.Option(help="No GPU has more kernels.")] = 48_000,
    graphs: Annotated[
        str | None,
        typer.Option(help="CUDA graphs: traced by node, by graph, or lost; default by framework."),
    ] = None,
    nsys: Annotated[str, typer.Option(help="Schema of nsys 2025.3 or 2026.2.")] = "2025.3",
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows.")] = 0,
    identical_steps: Annotated[
        bool, typer.Option("--identical-steps", help="All steps take equally long.")
    ] = False,
    slow_training_rank: Annotated[
        int | None, typer.Option(help="Policy rank that is slower than its siblings.")
    ] = None,
    slow_generation_gpu: Annotated[
        int | None, typer.Option(help="Generation GPU that is slower than its siblings.")
    ] = None,
    long_tail: Annotated[
        bool, typer.Option("--long-tail", help="A few very long requests in every segment.")
    ] = False,
    slow_refit: Annotated[
        bool, typer.Option("--slow-refit", help="Weights take eight times as long to arrive.")
    ] = False,
    exposed_communication: Annotated[
        bool, typer.Option("--exposed-communication", help="Collectives without compute under.")
    ] = False,
    missing_rank: Annotated[
        int | None, typer.Option(help="Policy rank that left no report.")
    ] = None,
    clock_skew_ms: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MS|HOST=MS",
            help="UTC error of all hosts but the first, or of one host; can be repeated.",
        ),
    ] = None,
    utc_step_ms: Annotated[
        float, typer.Option(help="UTC steps by this between two reports of a host.")
    ] = 0.0,
) -> None:
    """Write the reports of a simulated run, and truth.json: what is to be found in them.

    A simulated run that lies in DIR is replaced; anything else in it is left as it is.
    """
    options: dict[str, Any] = {**locals(), "clock_skew_ms": _skew(clock_skew_ms or [])}
    del options["folder"]
    with errors_told():
        from rlviz.demo import write

        try:
            written = write(folder, **options)
        except ValueError as error:  # options that make no run
            raise typer.BadParameter(str(error)) from None
    size = sum(path.stat().st_size for path in written)
    tell(f"{counted(len(written), 'simulated report')}, {size / 1e6:.0f} MB: {folder}")
    if on_terminal():
        tell(f"Next: rlviz check {folder}; rlviz export {folder} -o timeline.html", err=True)


def _skew(given: Iterable[str]) -> float | dict[str, float]:
    """Read ``40`` (all hosts but the first) or ``node-2=40`` (that host)."""
    of_all, of_host = 0.0, {}
    for text in given:
        host, equals, number = text.rpartition("=")
        try:
            milliseconds = float(number)
        except ValueError:
            message = f"--clock-skew-ms: {text!r} is neither a number nor HOST=NUMBER."
            raise typer.BadParameter(message) from None
        if equals:
            of_host[host] = milliseconds
        else:
            of_all = milliseconds
    return of_host or of_all
