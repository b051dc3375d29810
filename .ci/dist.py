"""Builds what is released, and tries it: `make dist`.

The source archive is built from the sources and the wheel from the archive. The wheel is installed into an empty environment and
used there from another folder, where the sources are not in reach.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
SOURCE = ROOT / "src" / "droculo"

TRIAL = """
import droculo
from droculo import Droculo, feedback, measure, networks, problems, simulate

problem = problems.TopB.random(agents=4, dim=6, budget=2, seed=0)
agent = Droculo.design(problem.setting, feedback.bandit(), horizon=64, theta=0.5)
run = simulate(problem, agent, networks.from_graph(networks.ring(4)), key=0)
assert run.actions.shape == (64, 4, 6)
assert measure.certificate(problem, run).bound.shape == (4,)
droculo.testing.check_set(problem.set)
print(droculo.__version__, droculo.__file__)
"""


def version() -> str:
    """As the sources say it."""
    found = re.search(r'^__version__ = "(.+?)"', (SOURCE / "__init__.py").read_text(), re.MULTILINE)
    assert found
    return found[1]


def build() -> tuple[Path, Path]:
    """The source archive, and the wheel that is built from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", DIST, ROOT], check=True)
    (archive,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return archive, wheel


def check_contents(archive: Path, wheel: Path) -> None:
    """Everything in the package is in both: modules, the oracle's C source, the page's assets."""
    files = [
        file.relative_to(SOURCE) for file in SOURCE.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    ]
    inside = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(archive) as opened:
        packed = set(opened.getnames())
    assert any(file.suffix == ".c" for file in files)
    assert any(file.suffix == ".js" for file in files)
    for file in files:
        assert f"droculo/{file.as_posix()}" in inside, f"{file} is not in the wheel"
        assert f"droculo-{version()}/src/droculo/{file.as_posix()}" in packed, f"{file} is not in the source archive"


def try_it(wheel: Path, folder: Path) -> None:
    """Install it with nothing but its dependencies, import it, run it, ask the command."""
    home = folder / "empty"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True
    )
    for command in (["python", "-c", TRIAL], ["droculo", "--help"], ["droculo", "doctor"]):
        done = subprocess.run(
            [programs / command[0], *command[1:]], cwd=folder, env=clean, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{command[:2]} failed:\n{done.stdout}{done.stderr}"
        if command[1] == "-c":
            told, where = done.stdout.split()
            assert told == version(), f"the installed version is {told}, that of the sources {version()}"
            assert str(home) in where, f"{where} was tried, and not what is installed in {home}"


def main() -> None:
    archive, wheel = build()
    assert f"-{version()}" in wheel.name, f"{wheel.name} is not of version {version()}"
    check_contents(archive, wheel)
    with tempfile.TemporaryDirectory(prefix="droculo-dist-") as folder:
        try_it(wheel, Path(folder))
    print(f"{archive.name} and {wheel.name} were built, installed and tried: {DIST}")


if __name__ == "__main__":
    main()
