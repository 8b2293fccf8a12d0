"use strict";
// Boards as SVG. A cell is 40 units wide; cells are numbered row by row from the top.

const CELL = 40;
const EDGE = 30; // around the board, for coordinates
const LARGEST = 1.6; // pixels per unit
const RISE = 74; // above boards whose actions are columns, for bars of probability
const LEAST_WRITTEN = 0.05; // share from which it is written on the board

/*
board: what `board_of` in sample_games.py returns. position: { cells (owner per cell, -1 empty),
last (cell of the last stone or null), next (action that is played next or null),
hints ({ style, shares: [[action, share]] } or null), both: [network, search] shares for columns }.
*/
function boardSvg(board, position) {
  const top = board.actions === "columns" ? RISE : EDGE;
  const size = { width: board.width * CELL + 2 * EDGE, height: board.height * CELL + top + EDGE };
  const centre = (cell) => ({
    x: EDGE + ((cell % board.width) + 0.5) * CELL,
    y: top + (Math.floor(cell / board.width) + 0.5) * CELL,
  });
  const isGo = board.style === "go";
  const kind = isGo ? "wood-board" : board.actions === "columns" ? "panel-board" : "plain-board";
  const draw = isGo ? goSvg : board.actions === "columns" ? panelSvg : plainSvg;
  const parts = [draw(board, position, { top, centre })];
  if (board.actions === "cells") parts.push(hintsSvg(board, position, centre));
  const style = `max-width:${size.width * LARGEST}px`; // a small board shall not have huge cells
  return `<svg class="${kind}" style="${style}" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${boardText(board, position)}">${parts.join("")}</svg>`;
}

// What a person who does not see the board is told: the rows from the top.
function boardText(board, position) {
  const marks = board.players.map((name) => name[0]);
  const rows = [];
  for (let row = 0; row < board.height; row += 1) {
    const cells = position.cells.slice(row * board.width, (row + 1) * board.width);
    rows.push(cells.map((owner) => (owner < 0 ? "." : marks[owner])).join(""));
  }
  return escapeText(`Board, rows from the top: ${rows.join(" ")}`);
}

function goSvg(board, position, { top, centre }) {
  const { width, height } = board;
  const right = EDGE + (width - 0.5) * CELL;
  const bottom = top + (height - 0.5) * CELL;
  const parts = [
    `<rect class="wood" x="0" y="0" width="${width * CELL + 2 * EDGE}" height="${height * CELL + top + EDGE}" rx="8"/>`,
  ];
  let lines = "";
  for (let row = 0; row < height; row += 1)
    lines += `M${EDGE + CELL / 2} ${top + (row + 0.5) * CELL}H${right}`;
  for (let column = 0; column < width; column += 1)
    lines += `M${EDGE + (column + 0.5) * CELL} ${top + CELL / 2}V${bottom}`;
  parts.push(`<path class="wood-line" d="${lines}"/>`);
  for (const cell of board.stars)
    parts.push(`<circle class="star" cx="${centre(cell).x}" cy="${centre(cell).y}" r="4"/>`);
  board.columns.forEach((label, column) => {
    const x = EDGE + (column + 0.5) * CELL;
    for (const y of [20, height * CELL + top + EDGE - 20])
      parts.push(`<text class="wood-text" x="${x}" y="${y}">${label}</text>`);
  });
  board.rows.forEach((label, row) => {
    const y = top + (row + 0.5) * CELL;
    for (const x of [20, width * CELL + 2 * EDGE - 20])
      parts.push(`<text class="wood-text" x="${x}" y="${y}">${label}</text>`);
  });
  position.cells.forEach((owner, cell) => {
    if (owner < 0) return;
    const { x, y } = centre(cell);
    parts.push(`<circle class="stone-${owner}" cx="${x}" cy="${y}" r="18.5"/>`);
    if (cell === position.last)
      parts.push(`<circle class="last-${owner}" cx="${x}" cy="${y}" r="9"/>`);
  });
  return parts.join("");
}

// A board into whose columns stones fall, with the shares of the columns above.
function panelSvg(board, position, { top, centre }) {
  const parts = [
    `<rect class="panel" x="${EDGE - 6}" y="${top - 4}" width="${board.width * CELL + 12}" height="${board.height * CELL + 8}" rx="10"/>`,
  ];
  parts.push(discsSvg(board, position, centre, "hole"));
  const shares = position.both || [];
  shares.forEach((one, index) => {
    for (const [action, share] of one.shares) {
      const x = EDGE + action * CELL + 5 + index * 16;
      const tall = Math.max(1, share * (RISE - 30));
      parts.push(
        `<rect class="rise s${one.style}" x="${x}" y="${top - 10 - tall}" width="14" height="${tall}"/>`,
      );
    }
  });
  const written = shares.length ? shares[shares.length - 1].shares : [];
  for (const [action, share] of written) {
    if (share < LEAST_WRITTEN) continue;
    const highest = Math.max(
      ...shares.map((one) => (one.shares.find(([other]) => other === action) || [0, 0])[1]),
    );
    const y = top - 19 - highest * (RISE - 30);
    parts.push(
      `<text class="outer" x="${EDGE + (action + 0.5) * CELL}" y="${y}">${Math.round(100 * share)}</text>`,
    );
  }
  board.columns.forEach((label, column) => {
    const y = top + board.height * CELL + 18;
    parts.push(
      `<text class="outer" x="${EDGE + (column + 0.5) * CELL}" y="${y}">${escapeText(label)}</text>`,
    );
  });
  return parts.join("");
}

function plainSvg(board, position, { top, centre }) {
  const cells = position.cells.map((owner, cell) => {
    const { x, y } = centre(cell);
    return `<rect class="plain" x="${x - CELL / 2}" y="${y - CELL / 2}" width="${CELL}" height="${CELL}"/>`;
  });
  return cells.join("") + discsSvg(board, position, centre, null);
}

// Discs with the player's letter, so that nobody has to tell colours apart.
function discsSvg(board, position, centre, emptyClass) {
  return position.cells
    .map((owner, cell) => {
      const { x, y } = centre(cell);
      if (owner < 0)
        return emptyClass ? `<circle class="${emptyClass}" cx="${x}" cy="${y}" r="16"/>` : "";
      const last =
        cell === position.last ? `<circle class="ring" cx="${x}" cy="${y}" r="16.5"/>` : "";
      const letter = `<text class="disc-text" x="${x}" y="${y + 1}">${escapeText(board.players[owner][0])}</text>`;
      return `<circle class="disc-${owner}" cx="${x}" cy="${y}" r="16"/>${letter}${last}`;
    })
    .join("");
}

function hintsSvg(board, position, centre) {
  const parts = [];
  const numCells = board.width * board.height;
  for (const [action, share] of position.hints ? position.hints.shares : []) {
    if (action >= numCells || position.cells[action] >= 0) continue;
    const { x, y } = centre(action);
    const radius = 5 + 13 * Math.sqrt(share);
    parts.push(
      `<circle class="hint s${position.hints.style}" cx="${x}" cy="${y}" r="${radius.toFixed(1)}"/>`,
    );
    if (share >= LEAST_WRITTEN)
      parts.push(`<text class="hint-text" x="${x}" y="${y}">${Math.round(100 * share)}</text>`);
  }
  if (position.next !== null && position.next < numCells) {
    const { x, y } = centre(position.next);
    parts.push(`<rect class="next" x="${x - 17}" y="${y - 17}" width="34" height="34" rx="5"/>`);
  }
  return parts.join("");
}
