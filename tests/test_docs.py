"""The documents keep their word: links lead somewhere, commands parse, tables match the code."""

import ast
import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from alphago.errors import CheckpointError, RulesError
from alphago.games import GAME_NAMES, make_game
from alphago.games.go.rules import DEFAULT_RULE_SET, RULE_SETS, GoRules
from alphago.network.auxiliary_heads import AUXILIARY_HEADS
from alphago.players.text import ENGINE_PREFIX, KINDS, make_player, split_text
from scripts import composition, gtp
from scripts.main import COMMANDS, main
from scripts.matches.players import MatchPlayer
from tests.protocols.gtp_helpers import Gtp
from train.config import RunConfig

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("alphago", "configs", "eval", "scripts", "selfplay", "tests", "train")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(path for name in FOLDERS for path in (ROOT / name).rglob("*.md"))]
)
PACKAGES = sorted(
    path.parent
    for name in FOLDERS
    if name not in ("configs", "tests")
    for path in (ROOT / name).rglob("__init__.py")
)
TAG = re.compile(r"[a-z]+/[a-z0-9_]+")
OLDEST_KEYS = ROOT / "tests" / "data" / "oldest_run_keys.txt"
NETWORKS = ("go_9x9",)  # that come with the package
# Of a run or a checkpoint.
PLAYER_KEYS = {"exploration", "fpu", "precision", "seconds", "simulations", "step"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code_lines(path: Path) -> list[str]:
    """Returns the lines of a document's code blocks; one that ends in a backslash goes on."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines()]


def prose(path: Path) -> str:
    """Returns a document without its code blocks."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(path: Path) -> set[str]:
    """Returns what GitHub makes of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def first_cells(path: Path) -> list[str]:
    """Returns the code that begins a row of a document's tables."""
    return re.findall(r"^\| `([^`]+)`[^|]*\|", path.read_text(encoding="utf-8"), re.M)


def test_every_package_has_a_readme() -> None:
    missing = [name_of(folder) for folder in PACKAGES if not (folder / "README.md").is_file()]
    assert missing == []
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "configs/README.md"):
        assert ROOT / name in DOCUMENTS


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


@pytest.mark.parametrize("folder", PACKAGES, ids=name_of)
def test_readme_of_a_package_lists_its_modules(folder: Path) -> None:
    listed = [cell for cell in first_cells(folder / "README.md") if re.fullmatch(r"\w+\.py", cell)]
    modules = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    assert sorted(listed) == sorted(modules)


def test_paths_in_code_spans_exist() -> None:
    for path in DOCUMENTS:
        for text in re.findall(r"`((?:\w+/)+[\w.]*\.(?:py|yaml|json|md))`", prose(path)):
            assert (ROOT / text).is_file() or (path.parent / text).is_file(), f"{path}: {text}"


def python_blocks() -> Iterator[tuple[Path, str]]:
    """Yields the Python examples of all documents."""
    for path in DOCUMENTS:
        for block in re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.M | re.S):
            yield path, block


@pytest.mark.parametrize(
    ("path", "program"), [pytest.param(*b, id=name_of(b[0])) for b in python_blocks()]
)
def test_python_examples_run(path: Path, program: str) -> None:
    exec(compile(program, str(path), "exec"), {})


# --- commands ---


def commands(path: Path) -> Iterator[list[str]]:
    """Yields the words after `alphago` of every such line, `make train` with its options too."""
    for line in code_lines(path):
        words = shlex.split(line, comments=True)
        program = words[0].rpartition("/")[2] if words else ""
        if program == "alphago":
            yield words[1:]
        if words[:2] == ["make", "train"]:
            options = [word.removeprefix("ARGS=") for word in words[2:]]
            yield ["train", *shlex.split(" ".join(options))]


COMMAND_LINES = [words for path in DOCUMENTS for words in commands(path)]


class Stopped(Exception):
    """The command line was understood; the players are not to play."""


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Takes the working half out of every sub-command; returns what would have been done."""
    done: list[str] = []

    def make_players(
        texts: list[str],
        *,
        game_name: str | None,
        seed: int,
        other_name: str | None = None,
    ) -> None:
        for text in texts:
            check_player(text, game_name=game_name or other_name)
        done.append("players")
        raise Stopped

    def choose_game(texts: list[str], *, game_name: str | None) -> None:
        make_players(texts, game_name=game_name, seed=0)

    def default_config(folder: Path) -> DictConfig:
        assert folder.parts[0] == "runs"
        return composition.compose_config(["minutes=null", "games=1"])

    def start(config: RunConfig, **team: object) -> tuple[Path, bool]:
        done.append("train")
        return Path("runs"), False

    def find_subject(text: str, *, game_name: str | None) -> None:
        make_players([text], game_name=game_name, seed=0)

    monkeypatch.setattr("scripts.export.find_subject", find_subject)
    # `workers` first: it takes `find_player` when it is imported, maybe here.
    for module in ("workers", "matches.players"):
        monkeypatch.setattr(
            f"scripts.{module}.find_player", lambda text: MatchPlayer(text, text, None)
        )
    networks = dict.fromkeys(NETWORKS, Path())
    monkeypatch.setattr("alphago.players.bundled.bundled_networks", lambda: networks)
    monkeypatch.setattr(
        "alphago.players.bundled.bundled_network_for", lambda game: next(iter(networks))
    )
    monkeypatch.setattr("scripts.match.choose_game", choose_game)
    monkeypatch.setattr("scripts.suite._checkpoint_players", lambda text: [(0, Path(), text)])
    for command in ("analyze", "play", "suite"):
        monkeypatch.setattr(f"scripts.{command}.make_players", make_players)
    # `resume` first: it takes `prepare` from `train` when it is imported, maybe here.
    for command in ("resume", "train"):
        monkeypatch.setattr(f"scripts.{command}.prepare", lambda config, **team: config)
    monkeypatch.setattr("scripts.train.check_start", lambda config: None)
    monkeypatch.setattr("scripts.train.start", start)
    monkeypatch.setattr("scripts.resume.check_is_run", lambda folder: None)
    monkeypatch.setattr("scripts.ray_cluster.cluster_of", lambda config: contextlib.nullcontext())
    monkeypatch.setattr("scripts.composition.load_run_config", default_config)
    monkeypatch.setattr(
        "scripts.resume.run_and_report", lambda config, **where: done.append("resume")
    )
    monkeypatch.setattr("scripts.bench.measure", lambda config, **how: done.append("bench"))
    monkeypatch.setattr(
        "scripts.report.write_report", lambda run, path, **options: done.append("report")
    )
    monkeypatch.setattr("scripts.check.check_is_run", lambda folder: None)
    for command in ("check", "doctor"):
        monkeypatch.setattr(
            f"scripts.{command}.report",
            lambda *what, command=command, **how: done.append(command),
        )
    for work in ("rate_run", "measure_anchors"):
        monkeypatch.setattr(f"scripts.rate.{work}", lambda *what, **how: done.append("rate"))
    monkeypatch.setattr(
        "scripts.ablate.run_ablation", lambda file, folder, **how: done.append("ablate")
    )
    monkeypatch.setattr("scripts.bench.describe", lambda results: "")
    monkeypatch.setattr(
        "scripts.gtp.serve_player",
        lambda text, values, options, *, output: check_player(text, game_name=values.get("game")),
    )
    return done


def check_player(text: str, *, game_name: str | None) -> None:
    """Makes a player of a kind; of folders and programs that are not there, checks the form."""
    subject, options = split_text(text)
    if subject in KINDS:
        make_player(text, game=make_game(game_name or GAME_NAMES[0]))
    elif subject in NETWORKS:
        assert options.keys() <= PLAYER_KEYS
    elif subject == ENGINE_PREFIX:
        assert "gnugo" not in text or "--mode gtp" in text  # else GNU Go does not speak GTP
    else:
        assert subject.startswith("runs/")
        assert options.keys() <= PLAYER_KEYS


def test_there_are_commands_of_every_kind() -> None:
    assert {words[0] for words in COMMAND_LINES} == set(COMMANDS)


@pytest.mark.parametrize("words", COMMAND_LINES, ids=" ".join)
def test_command_line_is_understood(
    words: list[str], idle: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert main(words) == 0, capsys.readouterr().err
    except Stopped:
        assert idle == ["players"]
    commands = ("ablate", "bench", "check", "doctor", "report", "resume", "train")
    if words[0] in commands and "--cfg" not in words:
        assert set(idle) == {words[0]}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_make_targets_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_modules_that_are_to_be_run_exist() -> None:
    for path in DOCUMENTS:
        for module in re.findall(r"python -m (tests[\w.]+)", path.read_text(encoding="utf-8")):
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), f"{path}: {module}"


def test_the_changelog_has_what_runs_of_development_versions_lack(tmp_path: Path) -> None:
    text = section(ROOT / "CHANGELOG.md", "Runs of development versions")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)
    added = OmegaConf.create(block)
    added_keys = {
        f"{name}.{key}" if isinstance(values, DictConfig) else name
        for name, values in added.items()
        for key in (values if isinstance(values, DictConfig) else [None])
    }
    # What the oldest run has that can be resumed; whatever is younger has to be in the block.
    old_keys = set(OLDEST_KEYS.read_text(encoding="utf-8").split())
    whole = dict(composition.flatten(composition.compose_config([])))
    assert added_keys == whole.keys() - old_keys
    old = OmegaConf.create()
    for key in old_keys:
        OmegaConf.update(old, key, whole[key])
    file = tmp_path / "config.yaml"
    OmegaConf.save(old, file)
    with pytest.raises(CheckpointError) as caught:
        composition.load_run_config(tmp_path)
    listed = str(caught.value).partition("values are missing: ")[2].partition(";")[0]
    assert set(listed.split(", ")) == added_keys
    OmegaConf.save(OmegaConf.merge(old, added), file)
    resumed = dict(composition.flatten(composition.load_run_config(tmp_path)))
    assert {key: resumed[key] for key in old_keys} == {key: whole[key] for key in old_keys}


# --- Go ---


def section(path: Path, heading: str) -> str:
    """Returns what stands below a heading, up to the next one."""
    _, _, text = path.read_text(encoding="utf-8").partition(f"# {heading}\n")
    assert text, f"{path} has no heading {heading!r}"
    return re.split(r"^#", text, maxsplit=1, flags=re.M)[0]


def rows(text: str) -> list[list[str]]:
    """Returns the cells of all rows of the tables in a text, headings too."""
    lines = re.findall(r"^\| (.*) \|$", text, re.M)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def rule_set_row(name: str, rules: GoRules) -> list[str]:
    default = " (default)" * (name == DEFAULT_RULE_SET)
    suicide = "yes" if rules.suicide else "no"
    bonus = rules.handicap_bonus
    return [f"`{name}`{default}", rules.ko, suicide, rules.scoring, f"{rules.komi:g}", bonus]


def test_readme_tells_the_options_and_rule_sets_of_go() -> None:
    table = rows(section(ROOT / "alphago" / "games" / "go" / "README.md", "Rules of Go"))
    for name, rules in RULE_SETS.items():
        assert rule_set_row(name, rules) in table
    options = {row[0].strip("`") for row in table if len(row) == 3} - {"option", "---"}
    with pytest.raises(RulesError) as caught:
        make_game("go_9x9:unknown=1")
    assert options == set(str(caught.value).partition("allowed: ")[2].split(", "))


def test_readme_of_protocols_lists_the_commands_and_options_of_the_engine() -> None:
    path = ROOT / "alphago" / "protocols" / "README.md"

    def first_codes(heading: str) -> list[str]:
        return [
            code
            for row in rows(section(path, heading))
            for code in re.findall(r"`([^`]+)`", row[0])
        ]

    assert sorted(first_codes("Commands")) == sorted(Gtp()("list_commands").split())
    assert sorted(first_codes("A player as a GTP engine")) == sorted(gtp.KEYS)


# --- TensorBoard ---


def tags_of_the_code() -> set[str]:
    """Returns every tag that `train` writes: keys of dicts, arguments of calls, heads."""
    found: set[str] = set()
    for path in (ROOT / "train").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            texts: list[ast.expr | None] = []
            if isinstance(node, ast.Dict):
                texts = list(node.keys)
            elif isinstance(node, ast.Subscript):
                texts = [node.slice]
            elif isinstance(node, ast.Call):
                texts = list(node.args)
            values = [text.value for text in texts if isinstance(text, ast.Constant)]
            found |= {v for v in values if isinstance(v, str) and TAG.fullmatch(v)}
    for head in AUXILIARY_HEADS:
        found |= {f"loss/{head}", f"heldout/{head}_loss"}
    return found


def test_readme_of_train_lists_the_tags_that_are_written() -> None:
    listed = [cell for cell in first_cells(ROOT / "train" / "README.md") if TAG.fullmatch(cell)]
    assert len(set(listed)) == len(listed)
    assert set(listed) == tags_of_the_code()
    assert "loss/policy" in listed
