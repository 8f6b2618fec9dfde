"""The documentation says what the code says, leads where it says, and asks nobody for anything."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rlviz
from rlviz import demo, errors
from rlviz.levels import groups, query, store
from rlviz.levels.query import ZoomableRun
from rlviz.run import assemble, clock_words
from rlviz.view import activity, held, legible, leveled_ranges, packed, search, span_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def text_of(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def sources() -> Iterator[str]:
    for path in sorted((ROOT / "rlviz").rglob("*.py")):
        yield path.read_text("utf-8")


# -- pages say what the code says -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("maker", "function", "page"),
    [
        ("make_architecture.py", "architecture_page", "architecture.md"),
        ("make_columns.py", "columns_page", "reference/columns.md"),
        ("make_command_line.py", "command_line_page", "reference/command-line.md"),
    ],
)
def test_a_generated_page_is_what_its_maker_gives(maker: str, function: str, page: str) -> None:
    made = runpy.run_path(str(DOCS / maker))[function]()
    assert text_of(page) == made, f"run: python docs/{maker}"


def test_the_page_of_the_architecture_sends_nobody_to_a_module_that_is_gone() -> None:
    named = set(re.findall(r"`((?:\w+/)*\w+\.(?:py|js|toml|md))`", text_of("architecture.md")))
    parts = set(re.findall(r"^### `([\w/]+)`", text_of("architecture.md"), re.MULTILINE))
    package = ROOT / "rlviz"
    assert len(named) > 200
    for path in named:
        below = [ROOT / path, package / path, *(package / part / path for part in parts)]
        assert any(one.is_file() for one in below), path


def test_no_package_is_missing_in_the_page_of_the_architecture() -> None:
    folders = {p.parent for s in (".py", ".js", ".toml") for p in (ROOT / "rlviz").rglob(f"*{s}")}
    there = {folder.relative_to(ROOT / "rlviz").as_posix() for folder in folders} - {"."}
    parts = set(re.findall(r"^### `([\w/]+)`", text_of("architecture.md"), re.MULTILINE))
    assert there == parts


def test_every_kind_of_diagnostic_is_documented() -> None:
    call = re.compile(r'Diagnostic\(\s*"(?:error|warning|info)",\s*"([a-z-]+)"')
    kinds = {*assemble._KINDS.values(), "unreadable"}
    for source in sources():
        kinds |= set(call.findall(source))
    told = text_of("reference/reading-reports.md")
    documented = set(re.findall(r"`([a-z-]+)`(?=[^|]*\| (?:error|warning|info) \|)", told))
    assert kinds <= documented


def test_messages_that_a_page_explains_are_those_of_the_code() -> None:
    told = text_of("how-to/does-not-open.md")
    section = told[told.index("## It cannot be read") : told.index("## It is not there")]
    messages = re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| (`[^|]+) \|", section, re.M)))
    code = re.sub(r'"\s*\n\s*f?"', "", "".join(sources()))
    assert len(messages) > 8
    for message in messages:
        said = re.sub(r"\\\(SQLITE_\w+\\\)", r"\\(\\{.+\\}\\)", re.escape(message))
        assert re.search(said, code), message


@pytest.mark.parametrize(
    ("row", "number"),
    [
        ("bars in the first view", f"{activity._BARS:,} over all rows"),
        ("bars in the first view", f"{activity._BARS_OF_ROW:,} a row"),
        ("events in a view, in a notebook", f"{query.MARKS:,}"),
        ("events in a page", f"{held.DEFAULT_MB:g} MB"),
        ("places of a search", f"{search._MOST_PLACES:,}"),
        ("levels of nested ranges and threads on a row", str(leveled_ranges._MOST_LEVELS)),
        ("names that colours tell apart", f"the {groups.MOST} "),
        ("kernels in the table of a range", f"the {span_sums.MOST_KERNELS} "),
        ("text of one name", str(legible.LONGEST)),
        ("the store", f"{store._MOST_BYTES >> 30} GiB"),
        (
            "length of a run whose page holds events",
            f"{(1 << 8 * packed.TIME_BYTES) // 86_400e9:g}",
        ),
    ],
)
def test_a_limit_is_the_one_that_the_code_keeps(row: str, number: str) -> None:
    (line,) = [line for line in text_of("reference/limits.md").splitlines() if f"| {row} |" in line]
    assert number in line


def test_a_pause_that_is_told_is_a_day() -> None:
    assert clock_words._PAUSE_NS == 86_400 * 10**9
    assert "for more than a day" in text_of("reference/reading-reports.md")


def test_the_citation_and_the_changelog_are_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    told = dict(re.findall(r"^([a-z-]+): (\S.*)$", citation, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert told["cff-version"] == "1.2.0"
    assert told["version"] == rlviz.__version__
    assert told["license"] == project["license"]
    assert project["description"] in citation
    heads = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert set(heads[1:]) >= ({rlviz.__version__} if len(heads) > 1 else set())


# -- links lead somewhere -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text):
        path, _, anchor = "".join(target).partition("#")
        if not path.startswith("http"):
            there = page.parent / path if path else page
            assert there.exists(), path
            if anchor and not anchor.startswith("rlviz."):  # those of the code are the build's
                assert anchor in _anchors(there.read_text("utf-8")), anchor


def _anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


# -- the site -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does: any warning ends it."""
    config = pytest.importorskip("mkdocs.config", reason="pip install '.[docs]'")
    build = pytest.importorskip("mkdocs.commands.build")
    pytest.importorskip("mkdocstrings")
    target = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        build.build(config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(target)))
    return target


@pytest.mark.slow
def test_a_reader_of_the_site_is_sent_to_nobody(site: Path) -> None:
    loads = re.compile(
        r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?((?:https?:)?//[^\s\">]+)"
        r"|<link\b(?=[^>]*\brel=\"?(?:stylesheet|preload|icon|preconnect|dns-prefetch))"
        r"[^>]*\bhref=\"?((?:https?:)?//[^\s\">]+)"
        r"|url\(\"?((?:https?:)?//[^\s\")]+)"
        r"|@import \"?((?:https?:)?//[^\s\"]+)"
    )
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        assert loads.findall(path.read_text("utf-8")) == [], path.relative_to(site)


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text("utf-8")
    there = set(re.findall(r'id="(rlviz[\w.]*)"', page))
    names = {f"rlviz.{name}" for name in rlviz.__all__ if name != "__version__"}
    names |= {f"rlviz.demo.{name}" for name in demo.__all__}
    names |= {
        f"rlviz.errors.{name}" for name in errors.__all__ if isinstance(getattr(errors, name), type)
    }
    for shown in (rlviz.Timeline, rlviz.Comparison):
        names |= {f"rlviz.{shown.__name__}.{member}" for member in _public(vars(shown))}
    names |= {f"rlviz.levels.query.ZoomableRun.{member}" for member in _public(dir(ZoomableRun))}
    assert names - there == set()


def _public(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}
