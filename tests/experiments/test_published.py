"""The committed pages of studies are made from the committed rows; any processor reads the same ones."""

from pathlib import Path

import pytest

from droculo.experiments import collect
from droculo.report import STUDY_PAGES

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("data", sorted(folder.name for folder in (RESULTS / "data").iterdir()))
def test_the_published_page_is_made_from_the_published_rows(data, tmp_path):
    for file in (RESULTS / "data" / data).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    found = collect(tmp_path)
    assert found.missing == ()
    name = found.spec.study["study"]
    assert STUDY_PAGES[name](found, tmp_path, found.command) == (RESULTS / f"{name}.md").read_text()


def test_no_published_run_is_above_its_bound():
    page = (RESULTS / "theory.md").read_text()
    assert "in 240 pairs of problem and horizon. It is below in all of them." in page
