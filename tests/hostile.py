"""A report whose every string wants to be code, or to break what shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.exports import UTC_NS, Export

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILE", "HOSTILE", "MARK", "write_hostile"]

MARK = "__pwned"
"""What the code in the strings would set, were it run."""

_RUN = f"globalThis.{MARK}=1"
HOSTILE = (
    f"</script><script>{_RUN}</script>",
    f'<img src=x onerror="{_RUN}">\'"`',
    f"<svg onload={_RUN}><a xlink:href='javascript:{_RUN}'>x</a>",
    f'"]}});{_RUN};//',
    f"${{{_RUN}}} {{{{{_RUN}}}}} {{%x%}} <%= x %> @{{x}} @name @$name",
    f"</style><style>*{{background:url(https://example.com/{MARK})}}</style>",
    "$$\\require{html}\\href{https://example.com}{x}$$ $\\frac{1}{0}$ \\(x\\)",
    "]]>--><!--<script><![CDATA[<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "nul\x00esc\x1b[31mbell\x07cr\rtab\tnewline\nend",
    "right\u202eto\u2066left\u200bzero\ufeffbom\u2028line\u2029paragraph",
    "\ufffe\uffff noncharacters \U000e0041 tag",
    "=cmd|'/c calc'!A0",
    "x" * 1_000_000,
    "",
    "   ",
    "constructor",
    "__proto__",
)
"""Names; all are text to SQLite."""

_SURROGATE = "lone\ud800surrogate"
FILE = f"vllm<img src=x onerror={_RUN}>'\"&$`{{}}\u202e\n.sqlite"


def write_hostile(folder: Path) -> Path:
    """Write two reports that use the strings as names of everything."""
    folder = folder / "<b>folder&amp;'\""
    for number, file in enumerate((FILE, "dtensor_policy_worker_1.sqlite")):
        pid = 10 + number
        host = HOSTILE[number * 2]
        with Export(folder / file, pid=pid, host=host, utc_ns=UTC_NS + number) as export:
            export.process(pid, HOSTILE[0].replace(" ", ""))
            export.gpu(HOSTILE[1] + str(number), HOSTILE[2] + str(number), name=HOSTILE[number])
            for place, name in enumerate(HOSTILE):
                start = 1_000_000 * (1 + 50 * place)
                export.domain(place + 1, name)
                export.thread(1000 + place, name)
                launched = export.kernel(start, start + 20_000_000, name, short=name)
                export.runtime(start - 1_000_000, start, name, correlation=launched)
                where = {"domain": place + 1, "tid": 1000 + place}
                export.push_pop(start, start + 40_000_000, name, **where)
                export.push_pop(start + 1_000_000, start + 30_000_000, name, tid=pid)
                export.start_end(start, start + 35_000_000, name, registered=True)
                export.mark(start, name)
            # no text of Python's that SQLite takes: bytes of a surrogate, as a program may write
            export.push_pop(5, 10, _SURROGATE.encode("utf-8", "surrogatepass"))  # type: ignore[arg-type]
            export.push_pop(900_000_000, 950_000_000, "dtensor_policy_worker_v2/train")
    return folder
