"""Specs: what makes a grid, what is left out with a reason, and what is refused with its line."""

import os
from pathlib import Path

import pytest

from droculo.experiments import ALGORITHMS, FEEDBACKS, NETWORKS, PROBLEMS, SpecError, load, parse
from droculo.experiments.cell import Choice, build, network_of, problem_of
from droculo.experiments.toml_lines import Lines

HEAD = 'problems = {name = "top-b", agents = 3, dim = 4}\nhorizons = 16\n'


def refused(text, tmp_path):
    file = tmp_path / "my.toml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        load(file)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [file]
    return str(caught.value)


def test_lists_make_a_grid():
    spec = parse(
        'problems = {name = "top-b", agents = [3, 4], dim = 4}\nnetworks = ["ring", "complete"]\nhorizons = [16, 64]\n'
        'seeds = [5, 7]\n[[algorithms]]\nname = "droculo"\ntheta = ["1/3", 1]\n[[algorithms]]\nname = ["dobga", "dpobga"]'
    )
    assert len(spec.cells) == 2 * 2 * 2 * 4
    assert len(set(spec.cells)) == len(spec.cells)
    assert {cell.seeds for cell in spec.cells} == {(5, 7)}
    labels = [
        "droculo, full-information, theta = 0.3333", "droculo, full-information, theta = 1", "dobga", "dpobga",
    ]  # fmt: skip
    assert list(dict.fromkeys(cell.label for cell in spec.cells)) == labels
    assert dict(spec.cells[0].algorithm.options)["theta"] == 1 / 3


def test_a_list_within_a_list_is_one_value(tmp_path):
    (tmp_path / "weights_of_mine.py").write_text(
        "from droculo import problems\n\n\ndef make(low):\n    assert low == (1.0, 2.0, 3.0)\n"
        "    return problems.TopB.random(agents=3, dim=4, budget=1, seed=0)\n"
    )
    text = 'problems = {name = "weights_of_mine:make", low = [[1.0, 2.0, 3.0]]}\nhorizons = 16\nalgorithms = "dobga"'
    assert len(parse(text, folder=tmp_path).cells) == 1


def test_thetas_go_to_those_that_have_a_theta():
    spec = parse(HEAD + 'thetas = [0.25, 0.5]\nalgorithms = ["droculo", "dobga", {name = "droculo", theta = 1}]')
    assert [dict(cell.algorithm.options).get("theta") for cell in spec.cells] == [0.25, 0.5, None, 1.0]


def test_what_no_theorem_covers_is_left_out_with_its_reason():
    spec = parse(
        HEAD + '[[algorithms]]\nname = "droculo"\nfeedback = ["full-information", "semi-bandit"]\ntheta = [0.5, 0.9]'
    )
    assert len(spec.cells) == 3
    ((cell, reason),) = spec.left_out
    assert cell.label == "droculo, semi-bandit, theta = 0.9"
    assert "theta must lie in [0, 2/3] for case A2 with semi-bandit feedback" in reason


def test_a_problem_and_an_algorithm_of_ones_own(tmp_path):
    (tmp_path / "mine_for_specs.py").write_text(
        "from droculo import problems\nfrom droculo.algorithms import DOBGA\n\n"
        "POSED = problems.TopB.random(agents=3, dim=4, budget=1, seed=0)\n\n\n"
        "class Slow(DOBGA):\n    pass\n\n\ndef wrong(setting, horizon):\n    return 3\n"
    )
    text = 'problems = "mine_for_specs:POSED"\nhorizons = 16\nalgorithms = "mine_for_specs:{}"'
    spec = parse(text.format("Slow"), folder=tmp_path)
    problem, network, agent = build(spec.cells[0], spec.folder)
    assert (problem.agents, network.n_agents, type(agent).__name__) == (3, 3, "Slow")
    before = spec.cells[0].key(spec.folder)
    module = tmp_path / "mine_for_specs.py"
    module.write_text(module.read_text() + "# another version\n")
    assert spec.cells[0].key(spec.folder) != before, "the user's code belongs to the cell"
    with pytest.raises(SpecError, match=r"'mine_for_specs:wrong' makes a int, and not a droculo.algorithms.Algorithm"):
        parse(text.format("wrong"), folder=tmp_path)
    with pytest.raises(SpecError, match="line 3: the module 'mine_for_specs' has no 'Fast'"):
        parse(text.format("Fast"), folder=tmp_path)


def test_user_code_is_loaded_in_its_present_state(tmp_path):
    """After a change, in another folder, and through a module beside it: never the module that was loaded before."""
    text = 'problems = "mine_now:make"\nhorizons = 9\nalgorithms = "dobga"'
    code = "import beside_now\nfrom droculo import problems\n\n\ndef make():\n    from beside_now import DIM\n" + (
        "    return problems.TopB.random(agents=3, dim=DIM, budget=1, seed=0)\n"
    )
    keys = []
    for folder, dim in (("one", 4), ("one", 5), ("two", 6)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "mine_now.py").write_text(code)
        (tmp_path / folder / "beside_now.py").write_text(f"DIM = {dim}\n")
        # Changed within a second: as old and as long as before.
        os.utime(tmp_path / folder / "beside_now.py", (1e9, 1e9))
        spec = parse(text, folder=tmp_path / folder)
        assert build(spec.cells[0], spec.folder)[0].set.dim == dim
        keys.append(spec.cells[0].key(spec.folder))
    assert len(set(keys)) == 3


def test_things_of_ones_own_that_are_made_already(tmp_path):
    (tmp_path / "made_already.py").write_text(
        "import networkx as nx\nfrom droculo import networks, problems, sets\nfrom droculo.linearizations import Concave\n\n"
        "roads = nx.cycle_graph(3)\nlinked = networks.from_graph(networks.path(3))\n"
        "box = problems.from_black_box(lambda i, t, x: float(x.sum()), sets.budget(3, 1), Concave(), gradient_bound=2.0, "
        "value_bound=3.0)\n\n\ndef broken():\n    return {}['x']\n"
    )
    text = "problems = {problem}\nnetworks = {network}\nhorizons = 9\nalgorithms = {algorithm}\n"
    top_b, dobga, ring = '{name = "top-b", agents = 3, dim = 4}', '"dobga"', '{name = "ring", agents = 3}'
    for network in ("roads", "linked"):
        spec = parse(text.format(problem=top_b, network=f'"made_already:{network}"', algorithm=dobga), folder=tmp_path)
        assert len(spec.cells) == 1
    lazy = text.format(problem=top_b, network='{name = "made_already:linked", lazy = 0.5}', algorithm=dobga)
    assert "line 2: made_already:linked, lazy = 0.5 is not possible: lazy" in refused_beside(lazy, tmp_path)
    broken = text.format(problem='"made_already:broken"', network=ring, algorithm=dobga)
    assert "line 1: made_already:broken is not possible: KeyError: 'x'" in refused_beside(broken, tmp_path)
    bandit = 'name = "droculo", feedback = "bandit"'
    both = text.format(problem='"made_already:box"', network=ring, algorithm=f"[{dobga}, {{{bandit}}}]")
    assert "asks for gradients, and made_already:box answers with values only" in refused_beside(both, tmp_path)
    assert parse(
        text.format(problem='"made_already:box"', network=ring, algorithm=f"{{{bandit}}}"), folder=tmp_path
    ).cells


def test_a_cell_is_known_by_what_it_runs():
    one, same, other = (
        parse(HEAD + f'algorithms = {{name = "droculo", theta = {theta}}}').cells[0] for theta in ("1", "1.0", "0.5")
    )
    assert one == same
    assert one.key(Path()) == same.key(Path()) != other.key(Path())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('problems = "topb"\nhorizons = 16\nalgorithms = "dobga"', "my.toml, line 1: there is no problem called 'topb'; did you mean 'top-b'?"),
        (HEAD + 'algorithms = "droclo"', "line 3: there is no algorithm called 'droclo'; did you mean 'droculo'?"),
        (HEAD + 'networks = "rign"\nalgorithms = "dobga"', "line 3: there is no network called 'rign'; did you mean 'ring'?"),
        (HEAD + '[[algorithms]]\nname = "droculo"\nfeedback = "bandits"', "line 5: there is no feedback called 'bandits'; did you mean 'bandit'?"),
        (HEAD + '[[algorithms]]\nname = "droculo"\nthet = 1', "line 5: algorithm 'droculo' has no option 'thet'; did you mean 'theta'?"),
        (HEAD + 'algorithm = "dobga"', "line 3: a spec has no 'algorithm'; did you mean 'algorithms'?"),
        (HEAD + '[[algorithms]]\nname = "droculo"\ntheta = 1.5', "line 5: droculo, full-information, theta = 1.5 is not possible: theta must lie in [0, 1]"),
        (HEAD + 'thetas = [0.5, -0.1]\nalgorithms = "droculo"', "line 3: droculo, full-information, theta = -0.1 is not possible: theta must lie in [0, 1]"),
        (HEAD + '[[algorithms]]\nname = "droculo"\ntheta = nan', "line 5: theta must be a finite number; got nan."),
        (HEAD + '[[algorithms]]\nname = "droculo"\ntheta = "half"', "line 5: theta is a number; got 'half'."),
        (HEAD + '[[algorithms]]\nname = "droculo"\ntheta = []', "line 5: theta is an empty list"),
        ('problems = {name = "top-b", agents = inf}\nhorizons = 9\nalgorithms = "dobga"', "line 1: agents must be a finite number; got inf."),
        ('problems = {name = "top-b", agents = 3.5}\nhorizons = 9\nalgorithms = "dobga"', "line 1: agents is a whole number; got 3.5."),
        ('problems = {name = "top-b", face = true}\nhorizons = 9\nalgorithms = "dmfw"', "line 3: dmfw is not possible: DMFW"),
        ('problems = "top-b"\nhorizons = 0\nalgorithms = "dobga"', "line 2: a horizon is a whole number, at least 1; got 0."),
        ('problems = "top-b"\nhorizons = [16, 2.5]\nalgorithms = "dobga"', "line 2: a horizon is a whole number, at least 1; got 2.5."),
        (HEAD + 'seeds = []\nalgorithms = "dobga"', "line 3: seeds is empty"),
        (HEAD + 'seeds = [1, 1]\nalgorithms = "dobga"', "line 3: seeds lists a number twice"),
        (HEAD + 'seeds = true\nalgorithms = "dobga"', "line 3: seeds is a list of whole numbers, or how many there are"),
        (HEAD + 'points = 1\nalgorithms = "dobga"', "line 3: points, the recorded times of a run"),
        (HEAD + 'title = 3\nalgorithms = "dobga"', "line 3: the title is text in quotes; got 3."),
        (HEAD + 'algorithms = ["dobga", "dobga"]', "asks for the same run twice: dobga, horizon 16"),
        (HEAD + "algorithms = 3", "line 3: one of the algorithms is a name, or a table with a name; got 3."),
        (HEAD + 'timed = 1\nalgorithms = "dobga"', "line 3: timed is true or false; got 1."),
        ('study = "tabel1"', "line 1: there is no study called 'tabel1'; did you mean 'table1'?"),
        ('study = "table1"\nsize = "huge"', "the study 'table1' is not possible: there is no size 'huge'; there are quick, full."),
        ('study = "compare"\nhorizons = 3', "the study 'compare' is not possible: "),
        (HEAD, "names no algorithms"),
        (HEAD + "algorithms = [", "is not TOML: "),
        (HEAD + 'networks = {name = "ring", agents = 5}\nalgorithms = "dobga"', "has 5 agents, and top-b, agents = 3, dim = 4 is posed for 3"),
        (HEAD + 'networks = {name = "ring", failing = 2.0}\nalgorithms = "dobga"', "line 3: ring, failing = 2 is not possible"),
        (HEAD + 'seeds = [0, 4294967296]\nalgorithms = "dobga"', "line 3: a seed is below 2^32; got 4294967296."),
        (HEAD + 'thetas = []\nalgorithms = ["droculo", "dobga"]', "line 3: thetas is an empty list"),
        (HEAD + "algorithms = {name = []}", "line 3: the name of one of the algorithms is an empty list"),
        (HEAD + 'algorithms = {name = "droculo", theta = {a = 1}}', "line 3: theta is a number, text, true or false, or a list; got {'a': 1}."),
        (HEAD + 'algorithms = {name = "droculo", theta = 2026-11-15}', "line 3: theta is a number, text"),
        (HEAD + 'algorithms = ["droculo", {name = "droculo", theta = "1/2"}]', "asks for the same run twice: droculo, full-information, theta = 0.5"),
        (HEAD + 'algorithms = {name = "droculo", theta = [0.33333, "1/3"]}', "asks for the same run twice"),
        (HEAD + 'networks = {name = "ring", agents = 0}\nalgorithms = "dobga"', "line 3: ring, agents = 0 is not possible"),
        ('problems = ["top-b", "feeder"]\nhorizons = 9\nnetworks = ["feeder-areas", "ring"]\n[[algorithms]]\nname = "droculo"\nfeedback = "semi-bandit"\ntheta = [0.5, 0.9]', "line 7: droculo, semi-bandit, theta = 0.9 is not possible: theta must lie"),
        (HEAD + 'algorithms = "nowhere_to_be_found:agent"', "line 3: 'nowhere_to_be_found:agent' cannot be imported"),
    ],
)  # fmt: skip
def test_wrong_specs_are_one_sentence_with_a_line(text, said, tmp_path):
    assert said in refused(text, tmp_path)


def test_a_set_without_the_origin_in_case_a2(tmp_path):
    (tmp_path / "off_the_origin.py").write_text(
        "import droculo.problems as p\nfrom droculo import sets\nfrom droculo.linearizations import MonotoneOrigin\n\n"
        "posed = p.from_function(lambda i, t, x: x.sum(), sets.fixed_budget(4, 2), MonotoneOrigin(), "
        "gradient_bound=2.0, value_bound=4.0)\n"
    )
    text = 'problems = "off_the_origin:posed"\nnetworks = {name = "ring", agents = 3}\nhorizons = 9\nalgorithms = "droculo"'
    said = refused_beside(text, tmp_path)
    assert "line 4: droculo" in said
    assert "contains the origin" in said


def refused_beside(text, tmp_path):
    with pytest.raises(SpecError) as caught:
        parse(text, folder=tmp_path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(SpecError, match=r"there is no spec .*none.toml. Write one with: droculo new"):
        load(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="is a folder, and a spec is a file"):
        load(tmp_path)


def test_too_large_a_grid_is_a_slip():
    with pytest.raises(SpecError, match="makes a grid of 20000 cells; at most 10000"):
        parse(f'problems = "top-b"\nhorizons = {list(range(1, 20001))}\nalgorithms = "dobga"')


def test_lines_in_a_file_with_everything():
    lines = Lines('a = """\n[b]\nc = 1\n"""\n\n[b]  # here\n"c" = 1\n[[d]]\nx = 1\n[[d]]\n\ny = [\n  1,\n]')
    assert lines.of(("b",)) == 6
    assert lines.of(("b", "c")) == 7
    assert lines.of(("d", 0, "x")) == 9
    assert lines.of(("d", 1, "y")) == 12
    assert lines.of(("d", 1, "z")) == 10
    assert lines.of(("b", 0, "c")) == 7


#: needs an extra that tests do not install
LATER = {"movielens"}


@pytest.mark.parametrize("name", sorted(set(PROBLEMS) - LATER))
def test_every_problem_of_the_catalogue_is_made(name):
    problem = problem_of(Choice("problem", name, ()), Path())
    assert problem.agents
    assert problem.set.dim
    case = problem.linearization.for_set(problem.set).case
    assert case in PROBLEMS[name].about, "its one line names its case"


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_every_network_of_the_catalogue_is_made(name):
    made = network_of(Choice("network", name, ()), 6, Path())
    assert made.n_agents == 6 or "agents" not in NETWORKS[name].options()
    lazier = network_of(Choice("network", name, (("lazy", 0.5),)), 6, Path())
    assert lazier.n_agents == made.n_agents
    if made.n_agents > 1:
        assert lazier.mixing_rate >= made.mixing_rate or name == "star"
        failing = network_of(Choice("network", name, (("failing", 0.5),)), 6, Path())
        assert type(failing).__name__ == "Failing"


def test_every_algorithm_and_feedback_of_the_catalogue_is_designed():
    text = HEAD + f"algorithms = {list(ALGORITHMS)}\n"
    assert [cell.algorithm.name for cell in parse(text).cells] == list(ALGORITHMS)
    text = HEAD + f'algorithms = {{name = "droculo", feedback = {list(FEEDBACKS)}}}'
    assert len(parse(text).cells) == len(FEEDBACKS)


@pytest.mark.parametrize("name", ["studies/showcase.toml", "template.toml"])
def test_the_specs_that_are_shipped_are_right(name):
    from importlib.resources import files

    spec = parse(files("droculo.experiments").joinpath(name).read_text())
    assert spec.cells
    assert not spec.left_out


def test_the_prescribed_schedule_has_scales_and_the_default_has_none(tmp_path):
    text = (
        HEAD
        + '[[algorithms]]\nname = "droculo-prescribed"\nstep = [1.0, 10.0]\ntolerance = 0.1\nblock = 2.0\ndelta = 0.25'
    )
    one, ten = (build(cell, Path())[2] for cell in parse(text).cells)
    assert float(ten.steps.step_size) == pytest.approx(10 * float(one.steps.step_size))
    assert "has no option 'step'" in refused(HEAD + 'algorithms = {name = "droculo", step = 3.0}', tmp_path)


def test_an_algorithm_that_is_not_told_the_horizon_is_refused(tmp_path):
    (tmp_path / "endless.py").write_text(
        "from droculo import Droculo, feedback\n\n\n"
        "def agent(setting, horizon):\n    return Droculo.design(setting, feedback.bandit())\n"
    )
    said = refused_beside(HEAD + 'algorithms = "endless:agent"', tmp_path)
    assert "endless:agent was told to play 16 rounds" in said
    assert "has the horizon None: pass the horizon on to its design." in said
