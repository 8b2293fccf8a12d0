"""One game between two players that people watch or take part in."""

from collections.abc import Callable, Sequence

from alphago.games.game import Game
from alphago.games.notation import replay
from alphago.games.territory import ScoredGame
from alphago.players.game_follower import Forfeit, GameFollower, GameSoFar
from alphago.players.human import HumanPlayer, UndoRequested
from alphago.players.player import Advisor, Player
from alphago.types import NUM_PLAYERS, States


def play_game(
    game: Game,
    players: tuple[Player, Player],
    *,
    tell: Callable[[str], None],
    actions: Sequence[int] = (),
) -> list[int]:
    """Plays a game to its end, with the moves told and people's `undo` and `hint` at work.

    Args:
        game: the rules.
        players: by player id; player 0 moves first, but in a handicap game.
        tell: takes a line or several about what happens.
        actions: the moves to start from.

    Returns:
        The actions of the whole game; it has no end if a player that follows games forfeited it.

    Raises:
        HumanQuit: if a person leaves.
        IllegalActionError: if `actions` cannot be played.
    """
    for seat in range(NUM_PLAYERS):
        _seat(players[seat], opponent=players[1 - seat])
    played = list(actions)
    states = replay(game, played)
    while not game.is_over(states)[0]:
        mover = int(game.to_play(states)[0])
        try:
            action = _choose(players[mover], played, states)
        except UndoRequested:
            played = _take_back(game, played, mover=mover, tell=tell)
            states = replay(game, played)
            continue
        if isinstance(action, Forfeit):
            tell(f"result: {players[1 - mover].name} won: {action.reason}")
            return played
        tell(f"{players[mover].name}: {game.action_to_text(action)}")
        played.append(action)
        states = game.step(states, [action])
    tell(game.render(states[0]))
    tell(_result_text(game, states, players))
    return played


def first_mover(game: Game) -> int:
    """Returns the id of the player who makes the first move."""
    return int(game.to_play(game.initial_states(1))[0])


def _choose(player: Player, played: Sequence[int], states: States) -> int | Forfeit:
    """Asks a player for its action in the only game [1] there is."""
    if isinstance(player, GameFollower):
        return player.choose_in_games([GameSoFar(0, played, states)])[0]
    return int(player.choose_actions(states)[0])


def _seat(player: Player, *, opponent: Player) -> None:
    """Lets a person take back moves and ask the opponent, if it can explain itself, for hints."""
    if isinstance(player, HumanPlayer):
        player.can_undo = True
        player.opponent = opponent.name
        if player.advisor is None and isinstance(opponent, Advisor):
            player.advisor = opponent


def _take_back(
    game: Game, played: list[int], *, mover: int, tell: Callable[[str], None]
) -> list[int]:
    """Returns the actions before the mover's last own action."""
    for num_actions in reversed(range(len(played))):
        if int(game.to_play(replay(game, played[:num_actions]))[0]) == mover:
            return played[:num_actions]
    tell("There is no move of yours to take back.")
    return played


def _result_text(game: Game, states: States, players: tuple[Player, Player]) -> str:
    """Returns who won a finished game [1], and by how many points if it counts any."""
    end = ", cut off by the cap on moves" if game.is_truncated(states)[0] else ""
    returns = game.returns(states)[0]
    if not returns.any():
        return f"result: a draw{end}"
    winner = int(returns.argmax())
    points = ""
    if isinstance(game, ScoredGame):
        margin = abs(float(game.score(states)[0]))
        points = f" by {margin:g} {'point' if margin == 1 else 'points'}"
    order = "first" if winner == first_mover(game) else "second"
    return f"result: {players[winner].name} won{points}, moving {order}{end}"
