"""Every story runs, its page says what the story says, and pages come from one command."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from droculo.experiments.cell import build
from droculo.gallery import STORIES
from droculo.gallery.__main__ import main
from droculo.gallery.page import index, page, play

PAGES = Path(__file__).parents[2] / "docs" / "applications"
#: needs an extra that tests do not install
LATER = {"movielens"}


def short(name, horizon=12):
    """The story with a few rounds only."""
    story = STORIES[name]
    return replace(story, cell=replace(story.cell, horizon=horizon), window=None)


@pytest.mark.parametrize("name", STORIES)
def test_the_committed_page_is_the_storys(name):
    """Text in the page comes from the story, its picture is there, and the run it reports was a success."""
    story, text = STORIES[name], (PAGES / f"{name}.md").read_text()
    answers = (story.decided, story.agents, story.round, story.set, story.case, story.source)
    for said in (story.title, *answers, story.caption):
        assert said in text, f"run: python -m droculo.gallery {name}"
    assert f"{story.cell.horizon} rounds, " in text
    assert (PAGES / f"{name}.png").stat().st_size > 10_000
    assert " actions that were looked at, 0 left the set." in text
    rows = {line.split("|")[1].strip(): line.split("|")[2] for line in text.splitlines() if line.startswith("| ")}
    assert float(rows["the agents"]) > 1.05 * float(rows["standing still at the start"])


def test_the_index_shows_all():
    assert (PAGES / "README.md").read_text() == index(STORIES).markdown()


@pytest.mark.parametrize("name", [name for name in STORIES if name not in LATER])
def test_every_story_runs_and_is_drawn(name, tmp_path):
    story = short(name)
    result = play(story)
    text = page(story, result, name).write(tmp_path, name)
    assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    _, _, agent = build(STORIES[name].cell, Path())
    assert agent.horizon == STORIES[name].cell.horizon
    assert f"12 rounds, {agent.feedback.kind} feedback" in text
    assert " actions that were looked at, 0 left the set." in text
    np.testing.assert_allclose(result.best_earned.sum(), result.row["best"], rtol=1e-9)
    np.testing.assert_allclose(result.start_earned[0], result.earned[0], rtol=1e-9)


def test_a_page_from_the_command(tmp_path, capsys, monkeypatch):
    import droculo.gallery.__main__ as command

    monkeypatch.setitem(command.STORIES, "influence", short("influence"))
    assert main(["influence", "--out", str(tmp_path)]) == 0
    assert "influence:" in capsys.readouterr().out
    text = (tmp_path / "influence.md").read_text()
    story = short("influence")
    assert page(story, play(story), "influence").markdown() == text, "the same story makes the same page"


def test_what_the_command_refuses(capsys, monkeypatch, tmp_path):
    with pytest.raises(SystemExit):
        main(["poker"])
    assert "no application called poker" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["influence", "--out", str(tmp_path)]) == 1
    assert 'pip install "droculo[plots]"' in capsys.readouterr().err
