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
  return drawChart(figure, {
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

function bothOf(ply, overlay) {
  if (overlay === "none") return null;
  const all = [
    { style: NETWORK, shares: ply.network },
    { style: SEARCH, shares: ply.search },
  ];
  return all.filter((one) => one.shares);
}

function startViewer(board, games) {
  const find = (id) => document.getElementById(id);
  const slider = find("slider");
  const state = { game: games[games.length - 1], p: 0, boards: [], chart: null };

  function overlay() {
    return document.querySelector("input[name=overlay]:checked").value;
  }

  function show() {
    const { game, p, boards } = state;
    const ply = game.plies[p] || null;
    find("board").innerHTML = boardSvg(board, {
      cells: boards[p],
      last: lastStone(game, p),
      next: ply && overlay() !== "none" ? ply.action : null,
      hints: ply && hintsOf(ply, overlay()),
      both: ply && bothOf(ply, overlay()),
    });
    const text = positionText(board, game, p);
    find("position").textContent = text;
    slider.value = p;
    slider.setAttribute("aria-valuetext", text);
    find("analysis-title").textContent = ply ? `${board.players[ply.player]} to move` : "The end";
    find("analysis-values").textContent = valuesText(board, game, p);
    find("moves").innerHTML = movesTable(board, game, p);
    state.chart({ cursor: ply ? p : null });
  }

  function go(p) {
    state.p = Math.max(0, Math.min(state.game.plies.length, p));
    for (const button of document.querySelectorAll("[data-go]")) {
      const isBackwards = ["first", "back"].includes(button.dataset.go);
      // Not `disabled`, which would take the focus away.
      button.setAttribute("aria-disabled", state.p === (isBackwards ? 0 : state.game.plies.length));
    }
    show();
  }

  function choose(index) {
    state.game = games[index];
    state.boards = boardsOf(state.game);
    slider.max = state.game.plies.length;
    const { num_random: numRandom } = state.game;
    find("game-facts").textContent =
      `${state.game.plies.length} moves, ${resultText(state.game, board)}; played by network ${state.game.network_version}` +
      `${numRandom ? `; random opening moves: ${numRandom}` : ""}.`;
    find("values").innerHTML = "<figure></figure>";
    state.chart = drawValues(find("values").firstChild, board, state.game, go);
    go(0);
  }

  function target(name) {
    const end = state.game.plies.length;
    return { first: 0, back: state.p - 1, forward: state.p + 1, last: end }[name];
  }

  function onKey(event) {
    if (event.target.name === "overlay" || event.altKey || event.ctrlKey || event.metaKey) return;
    const { p, game } = state;
    const places = {
      ArrowRight: p + 1,
      ArrowUp: p + 1,
      ArrowLeft: p - 1,
      ArrowDown: p - 1,
      PageDown: p + FAR,
      PageUp: p - FAR,
      Home: 0,
      End: game.plies.length,
    };
    if (!(event.key in places)) return;
    event.preventDefault();
    go(places[event.key]);
  }

  find("game").innerHTML = games
    .map((game, i) => `<option value="${i}">${escapeText(gameTitle(game, i, games))}</option>`)
    .join("");
  find("game").value = games.length - 1;
  find("game").addEventListener("change", (event) => choose(Number(event.target.value)));
  find("stepper").addEventListener("keydown", onKey);
  find("overlay").addEventListener("change", show);
  slider.addEventListener("input", () => go(Number(slider.value)));
  for (const button of document.querySelectorAll("[data-go]")) {
    button.addEventListener("click", () => go(target(button.dataset.go)));
  }
  find("overlay").hidden = board.actions !== "cells"; // columns show both
  find("viewer").hidden = false;
  choose(games.length - 1);
}
