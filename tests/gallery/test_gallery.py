"""Every story runs, its page says what the story says, and pages come from one command."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from droculo import Droculo
from droculo.gallery import STORIES, index, page, play
from droculo.gallery.__main__ import main

PAGES = Path(__file__).parents[2] / "docs" / "applications"


@pytest.mark.parametrize("name", STORIES)
def test_the_committed_page_is_the_storys(name):
    """Text in the page comes from the story, its picture is there, and the run it reports was a success."""
    story, text = STORIES[name], (PAGES / f"{name}.md").read_text()
    for said in (
        story.title,
        story.decided,
        story.agents,
        story.round,
        story.set,
        story.case,
        story.source,
        story.caption,
    ):
        assert said in text, f"run: python -m droculo.gallery {name}"
    assert f"{story.horizon} rounds, {story.feedback().kind} feedback" in text
    assert (PAGES / f"{name}.png").stat().st_size > 10_000
    assert " actions that were looked at, 0 left the set." in text
    rows = {line.split("|")[1].strip(): line.split("|")[2] for line in text.splitlines() if line.startswith("| ")}
    assert float(rows["the agents, over all rounds"]) > 1.05 * float(rows["staying at the start"])


def test_the_index_shows_all():
    assert (PAGES / "README.md").read_text() == index(STORIES)


@pytest.mark.parametrize("name", [name for name in STORIES if name != "movielens"])
def test_a_story_fits_together(name):
    """Its problem, network, feedback and scales make an algorithm; nothing is run."""
    story = STORIES[name]
    problem, network = story.problem(), story.network()
    assert problem.agents in (None, network.n_agents)
    agent = Droculo.design(
        problem.setting, story.feedback(), horizon=story.horizon, theta=story.theta, scales=story.scales
    )
    assert agent.horizon == story.horizon


def test_a_page_from_the_command(tmp_path, capsys, monkeypatch):
    import droculo.gallery.__main__ as command

    short = dataclasses.replace(STORIES["influence"], horizon=60)
    monkeypatch.setitem(command.STORIES, "influence", short)
    assert main(["influence", "--out", str(tmp_path)]) == 0
    assert "influence:" in capsys.readouterr().out
    text = (tmp_path / "influence.md").read_text()
    assert "60 rounds" in text
    assert (tmp_path / "influence.png").read_bytes()[:4] == b"\x89PNG"
    result = play(short)
    assert page(short, result, "influence") == text, "the same story makes the same page"
    np.testing.assert_allclose(result.best_earned.sum(), result.best.total)


def test_what_the_command_refuses(capsys, monkeypatch, tmp_path):
    with pytest.raises(SystemExit):
        main(["poker"])
    assert "no application called poker" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["influence", "--out", str(tmp_path)]) == 1
    assert 'pip install "droculo[plots]"' in capsys.readouterr().err
