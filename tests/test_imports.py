"""Import rules that import-linter cannot say: submodules of outside libraries, and real imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("alphago", "configs", "eval", "scripts", "selfplay", "train")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported_modules(path: Path) -> set[str]:
    """Returns the dotted names that a file imports, also inside of functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_imports_what_it_may(path: Path) -> None:
    names = imported_modules(path)
    assert "eval" not in names, "`import eval` hides the builtin"
    if path != ROOT / "train" / "metrics.py":
        assert not [name for name in names if "tensorboard" in name]
    if path.parts[len(ROOT.parts)] != "scripts":
        assert not [name for name in names if name.split(".")[0] == "hydra"]


def imported_by(statement: str, *, unwanted: tuple[str, ...]) -> list[str]:
    """Returns which of the unwanted modules a new process holds after a statement."""
    program = f"{statement}; import sys; print(*[m for m in {unwanted!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_rules_and_search_load_no_heavy_library() -> None:
    statement = "import alphago.games, alphago.search, alphago.players"
    assert imported_by(statement, unwanted=("torch", "ray", "hydra", "tensorboard")) == []


def test_playing_and_rating_a_network_needs_neither_ray_nor_hydra() -> None:
    statement = "import alphago.network, alphago.players.loading, eval.gating, eval.suites"
    assert imported_by(statement, unwanted=("ray", "hydra", "tensorboard")) == []


def test_command_line_starts_without_heavy_libraries() -> None:
    statement = "from scripts.main import main; main(['--help'])"
    program_output = imported_by(statement, unwanted=("torch", "ray", "hydra", "numba"))
    assert not {"torch", "ray", "hydra", "numba"} & set(program_output)


def test_packages_are_listed_for_installation() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for path in SOURCES
        if path.name == "__init__.py"
    }
    assert set(project["tool"]["setuptools"]["packages"]) == folders
