"""A GTP engine whose flaws are chosen by flags. It knows no rules: it plays its points in
order, where no stone has been put before, then it passes.

    python fake_gtp_engine.py [--flaw=NAME[:NUMBER]] [--moves=A1,B1] [--score=B+3.5]
                              [--unknown=COMMAND,...] [--log=FILE] [--once=FILE]

A flaw with a number shows from the genmove of that number on (from 1, counted in one process).
With --once it plays only if the file does not exist, which it makes: later it refuses the size.
"""

import argparse
import sys
import time

HANG_S = 3600  # the test's own time-out ends it
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COMMANDS = (
    "protocol_version name version known_command list_commands quit boardsize"
    " rectangular_boardsize clear_board komi play genmove final_score set_free_handicap"
    " kata-set-rules kgs-rules"
)


class Engine:
    def __init__(self, options):
        self.options = options
        self.flaw, _, number = options.flaw.partition(":")
        self.flaw_at = int(number or 0)
        self.width, self.height = 9, 9
        self.stones = {}
        self.num_genmoves = 0
        self.known = [name for name in COMMANDS.split() if name not in options.unknown.split(",")]

    def shows(self, flaw):
        return self.flaw == flaw and self.num_genmoves >= self.flaw_at

    def answer(self, name, words):
        """Returns whether the command is accepted, and the text."""
        if name not in self.known:
            return False, "unknown command"
        handler = getattr(self, f"do_{name.replace('-', '_')}", None)
        return handler(*words) if handler else (True, "")

    def do_protocol_version(self):
        return True, "2"

    def do_name(self):
        return True, "Fake"

    def do_list_commands(self):
        return True, "\n".join(self.known)

    def do_boardsize(self, size):
        return self.do_rectangular_boardsize(size, size)

    def do_rectangular_boardsize(self, width, height):
        if self.flaw == "size":
            return False, "unacceptable size"
        self.width, self.height = int(width), int(height)
        return self.do_clear_board()

    def do_clear_board(self):
        self.stones = {}
        return True, ""

    def do_kata_set_rules(self, *words):
        return (False, "no such rules") if self.flaw == "rules" else (True, "")

    def do_set_free_handicap(self, *vertices):
        self.stones |= {vertex: "b" for vertex in vertices}
        return True, ""

    def do_play(self, colour, vertex):
        if self.shows("refuse-play"):
            return False, "illegal move"
        self.stones[vertex] = colour
        return True, ""

    def do_genmove(self, colour):
        self.num_genmoves += 1
        if self.shows("crash"):
            print("about to crash", file=sys.stderr)
            sys.exit(3)
        if self.shows("hang"):
            time.sleep(HANG_S)
        if self.shows("refuse-genmove"):
            return False, "cannot think"
        if self.shows("illegal"):
            vertex = next(iter(self.stones), "Z99")
        elif self.shows("unreadable"):
            vertex = "somewhere"
        elif self.shows("resign"):
            return True, "resign"
        else:
            vertex = self.next_vertex()
        self.stones[vertex] = colour
        return True, vertex

    def next_vertex(self):
        if self.options.moves:
            points = self.options.moves.split(",")
        else:
            points = [
                f"{COLUMNS[column]}{row}"
                for row in range(1, self.height + 1)
                for column in range(self.width)
            ]
        return next((point for point in points if point not in self.stones), "pass")

    def do_final_score(self):
        if self.flaw == "crash-at-score":
            sys.exit(4)
        if not self.options.score:
            return False, "cannot score"
        return True, self.options.score


def main():
    parser = argparse.ArgumentParser()
    for option in ("flaw", "moves", "score", "unknown", "log", "once"):
        parser.add_argument(f"--{option}", default="")
    engine = Engine(parser.parse_args())
    if engine.flaw == "crash-at-start":
        sys.exit("no network file")
    if engine.options.once:
        try:
            open(engine.options.once, "x").close()
        except FileExistsError:
            engine.flaw = "size"
    if engine.flaw == "banner":
        print("Welcome to Fake!", flush=True)
    for line in sys.stdin:
        if engine.options.log:
            with open(engine.options.log, "a") as log:
                log.write(line)
        number, name, *words = line.split()
        accepted, text = engine.answer(name, words)
        if engine.shows("stderr-flood"):
            sys.stderr.write("thinking hard\n" * 100_000)  # far more than a pipe holds
        if engine.shows("garbage"):
            print("info: not GTP")
        if engine.shows("endless"):
            sys.stdout.write(f"={number} " + "word\n" * 400_000)
        if name == "quit":
            if engine.flaw == "dies-at-quit":
                sys.exit(5)
            if engine.flaw == "ignores-quit":
                time.sleep(HANG_S)
        if engine.shows("wrong-id"):
            number = int(number) + 1
        end = "\r\n" if engine.flaw == "crlf" else "\n"
        print(f"{'=' if accepted else '?'}{number} {text}", end=end + end, flush=True)
        if name == "quit":
            return


if __name__ == "__main__":
    main()
