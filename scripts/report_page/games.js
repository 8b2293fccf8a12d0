"use strict";
// The viewer of sample games: position p is the board after p moves.

const MOVES_LISTED = 8;
const FAR = 10; // moves of Page Up and Page Down
const SEARCH = 1; // styles of series, here and in the chart of values
const NETWORK = 0;

function gameTitle(game, index, games) {
  const place = index === games.length - 1 ? "newest" : index === 0 ? "first" : "";
  const when = isNumber(game.minutes)
    ? `after ${numberText(game.minutes)} min`
    : "after the last iteration";
  const name = `Game ${(game.number + 1).toLocaleString("en")}`;
  return `${name}, ${when}${place && games.length > 1 ? ` (${place})` : ""}`;
}

function resultText(game, board) {
  const [first] = game.returns;
  const winner = first === 0 ? "a draw" : `${board.players[first > 0 ? 0 : 1]} wins`;
  return `${winner}${game.result && first !== 0 ? ` (${game.result})` : ""}${game.truncated ? ", truncated by the cap on moves" : ""}`;
}

function factsText(game, board) {
  const random = game.num_random ? `; random opening moves: ${game.num_random}` : "";
  const moves = `${game.plies.length} moves, ${resultText(game, board)}`;
  return `${moves}; played by network ${game.network_version}${random}.`;
}

// The owner of each cell after 0, 1, 2, ... moves.
function boardsOf(game) {
  const boards = [game.start];
  for (const ply of game.plies) {
    const cells = boards[boards.length - 1].slice();
    for (const [cell, owner] of ply.changes) cells[cell] = owner;
    boards.push(cells);
  }
  return boards;
}

function lastStone(game, p) {
  if (p === 0) return null;
  const { changes, player } = game.plies[p - 1];
  const put = changes.find(([, owner]) => owner === player);
  return put ? put[0] : null;
}

function moveText(board, game, index) {
  const ply = game.plies[index];
  return `${board.players[ply.player]} ${board.moves[ply.action]}`;
}

function positionText(board, game, p) {
  const end = game.plies.length;
  const before = p === 0 ? "the beginning" : `move ${p}: ${moveText(board, game, p - 1)}`;
  if (p === end) return `Position ${p} of ${end}, ${before}. The end: ${resultText(game, board)}.`;
  return `Position ${p} of ${end}, ${before}. Played next: ${moveText(board, game, p)}.`;
}

function valuesText(board, game, p) {
  if (p === game.plies.length) return "The game is over.";
  const ply = game.plies[p];
  const describe = (name, value) =>
    isNumber(value)
      ? `${name} ${signedText(value)} (${percentText((1 + value) / 2, 0)})`
      : `${name}: none`;
  return `Value for ${board.players[0]}, and its expected score: ${describe("search", ply.search_value)}, ${describe("network", ply.network_value)}.`;
}

// Why a position has no shares of the search.
function searchNote(game, p) {
  if (p < game.num_random) return "A random opening move: nothing was searched.";
  return game.plies[p].search
    ? ""
    : "A quick search: its shares are not learnt from, and not kept.";
}

// The first position with shares of the search, else the beginning.
function firstSearched(game) {
  return Math.max(0, game.plies.findIndex((ply) => ply.search));
}

function movesTable(board, game, p) {
  if (p === game.plies.length) return "";
  const ply = game.plies[p];
  const share = (shares, action) =>
    ((shares || []).find(([other]) => other === action) || [action, null])[1];
  const order = [...(ply.search || []), ...(ply.network || [])].map(([action]) => action);
  const listed = [...new Set(order)].slice(0, MOVES_LISTED);
  if (!listed.includes(ply.action)) listed.splice(MOVES_LISTED - 1, 1, ply.action);
  const cell = (shares, action, style) => {
    if (!shares) return "<td>–</td>";
    const value = share(shares, action) || 0;
    return `<td>${percentText(value)}<div class="bar s${style}"><i style="width:${(100 * value).toFixed(1)}%"></i></div></td>`;
  };
  const rows = listed.map((action) => {
    const isPlayed = action === ply.action;
    const name = `${escapeText(board.moves[action])}${isPlayed ? " · played" : ""}`;
    return `<tr class="${isPlayed ? "played" : ""}"><td>${name}</td>${cell(ply.search, action, SEARCH)}${cell(ply.network, action, NETWORK)}</tr>`;
  });
  const note = searchNote(game, p);
  return `<table><thead><tr><th scope="col">Move</th><th scope="col">Search</th><th scope="col">Network</th></tr></thead><tbody>${rows.join("")}</tbody></table>${note ? `<p class="quiet">${note}</p>` : ""}`;
}

function drawValues(figure, board, game, onPick) {
  const [first, second] = board.players;
  return new Chart(figure, {
    title: "Value over the game",
    text: `In the view of ${first}: +1 when ${first} is sure to win, −1 when ${second} is.`,
    xName: "moves played",
    isCount: true,
    x: game.plies.map((ply, i) => i),
    series: [
      { name: "network", y: game.plies.map((ply) => ply.network_value) },
      { name: "search", y: game.plies.map((ply) => ply.search_value) },
    ],
    yRange: [-1, 1],
    lines: [{ y: 0, label: "" }],
    xRange: [0, Math.max(1, game.plies.length)],
    xText: (index) => `after ${index} moves`,
    format: signedText,
    height: 190,
    cursor: 0,
    onPick,
  });
}

// Which shares are drawn on the board of a position.
function hintsOf(ply, overlay) {
  const shares = overlay === "search" ? ply.search : overlay === "network" ? ply.network : null;
  return shares ? { style: overlay === "search" ? SEARCH : NETWORK, shares } : null;
}

function bothOf(ply) {
  const all = [
    { style: NETWORK, shares: ply.network },
    { style: SEARCH, shares: ply.search },
  ];
  return all.filter((one) => one.shares);
}

class Viewer {
  constructor(board, games) {
    this.board = board;
    this.games = games;
    this.slider = byId("slider");
    byId("game").innerHTML = games
      .map((game, i) => `<option value="${i}">${escapeText(gameTitle(game, i, games))}</option>`)
      .join("");
    byId("game").value = games.length - 1;
    byId("overlay").hidden = board.actions !== "cells"; // columns show both
    byId("viewer").hidden = false;
    this.listen();
    this.choose(games.length - 1);
  }

  listen() {
    byId("game").addEventListener("change", (event) => this.choose(Number(event.target.value)));
    byId("stepper").addEventListener("keydown", (event) => this.onKey(event));
    byId("overlay").addEventListener("change", () => this.show());
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    for (const button of document.querySelectorAll("[data-go]")) {
      button.addEventListener("click", () => this.go(this.place(button.dataset.go)));
    }
  }

  choose(index) {
    const game = this.games[index];
    this.game = game;
    this.end = game.plies.length;
    this.boards = boardsOf(game);
    this.slider.max = this.end;
    byId("game-facts").textContent = factsText(game, this.board);
    byId("values").innerHTML = "<figure></figure>";
    this.chart = drawValues(byId("values").firstChild, this.board, game, (p) => this.go(p));
    this.go(firstSearched(game));
  }

  place(name) {
    return { first: 0, back: this.p - 1, forward: this.p + 1, last: this.end }[name];
  }

  go(p) {
    this.p = Math.max(0, Math.min(this.end, p));
    for (const button of document.querySelectorAll("[data-go]")) {
      const isBackwards = ["first", "back"].includes(button.dataset.go);
      // Not `disabled`, which would take the focus away.
      button.setAttribute("aria-disabled", this.p === (isBackwards ? 0 : this.end));
    }
    this.show();
  }

  show() {
    const { game, p, board } = this;
    const ply = game.plies[p] || null; // none at the end
    byId("board").innerHTML = boardSvg(board, this.position(ply));
    const text = positionText(board, game, p);
    byId("position").textContent = text;
    this.slider.value = p;
    this.slider.setAttribute("aria-valuetext", text);
    byId("analysis-title").textContent = ply ? `${board.players[ply.player]} to move` : "The end";
    byId("analysis-values").textContent = valuesText(board, game, p);
    byId("moves").innerHTML = movesTable(board, game, p);
    this.chart.update({ cursor: ply ? p : null });
  }

  position(ply) {
    const overlay = document.querySelector("input[name=overlay]:checked").value;
    return {
      cells: this.boards[this.p],
      last: lastStone(this.game, this.p),
      next: ply && overlay !== "none" ? ply.action : null,
      hints: ply && hintsOf(ply, overlay),
      both: ply && bothOf(ply),
    };
  }

  onKey(event) {
    if (event.target.name === "overlay" || event.altKey || event.ctrlKey || event.metaKey) return;
    const places = {
      ArrowRight: this.p + 1,
      ArrowUp: this.p + 1,
      ArrowLeft: this.p - 1,
      ArrowDown: this.p - 1,
      PageDown: this.p + FAR,
      PageUp: this.p - FAR,
      Home: 0,
      End: this.end,
    };
    if (!(event.key in places)) return;
    event.preventDefault();
    this.go(places[event.key]);
  }
}
