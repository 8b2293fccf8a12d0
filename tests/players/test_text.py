import subprocess
import sys

import pytest

from alphago.errors import PlayerError, UnknownGameError
from alphago.games import make_game
from alphago.players import game_of_player, make_player
from alphago.players.text import split_text

GAME = make_game("connect_four")


@pytest.mark.parametrize(
    ("text", "subject", "options"),
    [
        ("random", "random", {}),
        ("alphabeta:depth=4", "alphabeta", {"depth": "4"}),
        ("runs/x:simulations=100,step=best", "runs/x", {"simulations": "100", "step": "best"}),
        ("runs/x: simulations = 1 , step=2", "runs/x", {"simulations": "1", "step": "2"}),
        ("a:b", "a:b", {}),
        ("a:b:step=1", "a:b", {"step": "1"}),
        ("c:/runs/a=b", "c:/runs/a=b", {}),
        ("a=1,b=2", "a=1,b=2", {}),
        ("a b/ü:step=1", "a b/ü", {"step": "1"}),
        ("runs/x:step=", "runs/x", {"step": ""}),
        ("runs/x:step=1,", "runs/x:step=1,", {}),
        ("", "", {}),
    ],
)
def test_options_follow_the_last_colon(text, subject, options):
    assert split_text(text) == (subject, options)


def test_a_path_that_exists_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr:decay=0.9").mkdir()
    assert split_text("lr:decay=0.9") == ("lr:decay=0.9", {})
    assert split_text("lr:decay=0.9:step=3") == ("lr:decay=0.9", {"step": "3"})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("random", "random"),
        ("minimax", "minimax"),
        ("human", "human"),
        ("alphabeta", "alphabeta:depth=6"),
        ("alphabeta:depth=2", "alphabeta:depth=2"),
        ("alphabeta:nodes=500", "alphabeta:depth=6,nodes=500"),
        ("alphabeta:nodes=500,depth=2", "alphabeta:depth=2,nodes=500"),
        ("uct", "uct:playouts=1000"),
        ("uct:playouts=50", "uct:playouts=50"),
        ("uct:exploration=1.4,playouts=50", "uct:playouts=50,exploration=1.4"),
        ("uct:seconds=2", "uct:seconds=2"),
        ("uct:seconds=0.50,playouts=9", "uct:playouts=9,seconds=0.5"),
        ("flat_mc", "flat_mc:playouts=1000"),
        ("flat_mc:playouts=50", "flat_mc:playouts=50"),
    ],
)
def test_kinds(text, name):
    assert make_player(text, game=GAME).name == name
    assert make_player(text, game="connect_four", seed=1).name == name
    assert game_of_player(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minmax", "no such kind of player and no such file or folder, did you mean minimax?"),
        ("Random", "did you mean random?"),
        ("runs/nothing", "no such file or folder"),
        ("runs/nothing:simulations=5", "no such file or folder"),
        ("", "no such kind of player"),
        (":step=4", "no such kind of player"),
        ("x" * 5000, "no such kind of player"),
        ("alphabeta:dept=3", "got option 'dept', did you mean depth? (allowed: depth, nodes)"),
        ("random:depth=3", "got option 'depth' (allowed: no options)"),
        ("alphabeta:depth=x", "depth: got 'x', allowed: an integer from 1 to 42"),
        ("alphabeta:depth=3.0", "depth: got '3.0', allowed"),
        ("alphabeta:depth=1_0", "depth: got '1_0', allowed"),
        ("alphabeta:depth=", "depth: got '', allowed"),
        ("alphabeta:depth=-1", "depth: got '-1', allowed"),
        ("alphabeta:depth=0", "depth: got 0, allowed"),
        ("alphabeta:depth=43", "depth: got 43, allowed"),
        ("alphabeta:nodes=0", "nodes: got 0, allowed: an integer from 1 to 1000000000"),
        ("alphabeta:depth=2,depth=3", "depth is given twice"),
        (
            "uct:playout=3",
            "got option 'playout', did you mean playouts? (allowed: playouts, seconds, explor",
        ),
        ("uct:playouts=0", "playouts: got 0, allowed: an integer from 1 to 1000000"),
        ("uct:playouts=1e3", "playouts: got '1e3', allowed"),
        ("uct:exploration=nan", "exploration: got 'nan', allowed: a number of at least 0"),
        ("uct:exploration=-1", "exploration: got '-1', allowed: a number of at least 0"),
        ("uct:seconds=0", "seconds: got '0', allowed: a number above 0"),
        ("uct:seconds=0.000", "seconds: got '0.000', allowed: a number above 0"),
        ("uct:seconds=-1", "seconds: got '-1', allowed: a number above 0"),
        ("uct:seconds=inf", "seconds: got 'inf', allowed: a number above 0"),
        ("flat_mc:seconds=1", "got option 'seconds' (allowed: playouts)"),
        ("flat_mc:playouts=0", "playouts: got 0, allowed: an integer from 1 to 1000000"),
        ("flatmc", "did you mean flat_mc?"),
        ("alphabeta:depth", "got option 'depth', allowed: key=value"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(PlayerError) as caught:
        make_player(text, game=GAME)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("simulatons=5", "got option 'simulatons', did you mean simulations?"),
        ("simulations=-1", "simulations: got '-1', allowed: an integer from 0 to 1000000"),
        ("simulations=1e3", "simulations: got '1e3'"),
        ("simulations=9999999", "simulations: got 9999999"),
        ("seconds=0", "seconds: got '0', allowed: a number above 0"),
        ("seconds=soon", "seconds: got 'soon', allowed: a number above 0"),
        ("exploration=much", "exploration: got 'much', allowed: a number of at least 0"),
        ("exploration=-1", "exploration: got '-1', allowed: a number of at least 0"),
        ("exploration=nan", "exploration: got 'nan', allowed: a number of at least 0"),
        ("fpu=", "fpu: got '', allowed: a number of at least 0"),
        ("simulations=0,exploration=0.9", "exploration: of a search, but simulations=0 plays with"),
        ("simulations=0,fpu=0", "fpu: of a search, but simulations=0 plays without one"),
        ("fpu=0,exploration=1,simulations=0", "exploration and fpu: of a search, but"),
        ("fpu=-0.1", "fpu: got '-0.1', allowed: a number of at least 0"),
        ("step=newest", "step: got 'newest', allowed: an integer of at least 0, best or latest"),
        ("step=-4", "step: got '-4'"),
        ("best", "got option 'best', allowed: key=value"),
    ],
)
def test_wrong_options_of_a_folder_are_named(tmp_path, options, message):
    with pytest.raises(PlayerError) as caught:
        make_player(f"{tmp_path}:{options}", game=GAME)
    assert message in str(caught.value)


def test_a_file_is_no_player(tmp_path):
    (tmp_path / "net.pt").write_bytes(b"")
    with pytest.raises(PlayerError, match="got a file, allowed: the folder"):
        make_player(str(tmp_path / "net.pt"), game=GAME)
    with pytest.raises(PlayerError, match="got a file"):
        game_of_player(str(tmp_path / "net.pt"))


def test_the_game_has_to_be_known():
    with pytest.raises(PlayerError, match="random: which game"):
        make_player("random")
    with pytest.raises(UnknownGameError, match="connect_four"):
        make_player("random", game="conect_four")


def test_players_without_a_network_need_no_torch():
    code = (
        "import sys; from alphago.players import make_player;"
        "make_player('random', game='tic_tac_toe'); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
