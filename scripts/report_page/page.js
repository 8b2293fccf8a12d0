"use strict";
// Puts the data of the page into its sections.

const report = JSON.parse(document.getElementById("data").textContent);

function byId(id) {
  return document.getElementById(id);
}

function countText(number) {
  return isNumber(number) ? Math.round(number).toLocaleString("en") : "–";
}

function minutesText(minutes) {
  return minutes >= 600 ? `${numberText(minutes / 60)} h` : `${numberText(minutes)} min`;
}

function bytesText(bytes) {
  if (bytes < 1e3) return `${bytes} B`;
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
}

// Cells are HTML; the first columns may be text, the others are numbers.
function tableHtml(caption, heads, rows, numText = 1) {
  const kind = (i) => (i < numText ? ' class="text"' : "");
  const head = heads
    .map((text, i) => `<th scope="col"${kind(i)}>${escapeText(text)}</th>`)
    .join("");
  const body = rows.map(
    (row) => `<tr>${row.map((cell, i) => `<td${kind(i)}>${cell}</td>`).join("")}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="region" aria-label="${escapeText(caption)}"><table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

// --- at a glance ---

function gameFact(text) {
  const [name, rules] = text.split(":");
  return [name, rules ? rules.replaceAll(",", ", ") : ""];
}

function networkFact({ num_blocks: blocks, num_channels: channels, num_parameters: parameters }) {
  const size = isNumber(parameters) ? `${countText(parameters)} parameters` : "no checkpoint yet";
  return [`${countText(blocks)} × ${countText(channels)}`, `residual blocks × channels, ${size}`];
}

function ratingFact(rating) {
  if (!rating) return ["not rated", `run alphago rate on the run, then make the report again`];
  return [
    numberText(rating.elo),
    `95 % interval ${numberText(rating.low)} to ${numberText(rating.high)}, at step ${countText(rating.step)}`,
  ];
}

function gateFact(gate) {
  if (!gate.last) return ["no candidate yet", ""];
  if (!isNumber(gate.last.score))
    return ["off", `all ${countText(gate.num_candidates)} candidates became the best network`];
  const verdict = gate.last.promoted ? "promoted" : "rejected";
  return [
    `${countText(gate.num_promoted)} of ${countText(gate.num_candidates)} promoted`,
    `the last one scored ${percentText(gate.last.score)} (threshold ${percentText(gate.threshold, 0)}) and was ${verdict}`,
  ];
}

function suiteFact({ file, last }) {
  if (!last) return ["none", file ? "not run yet" : "no suite for this run"];
  const names = Object.entries(last).map(
    ([tag, share]) => `${tag.replace("suite/", "")} ${percentText(share)}`,
  );
  return [
    names.join(", "),
    `positions in which a best move was found${file ? `, suite ${file}` : ""}`,
  ];
}

function inferenceFact({ precision, wanted, policy_kl: kl, value_error: error }) {
  if (!precision) return [wanted || "–", "as asked for; the log does not say what was used"];
  return [
    precision,
    `in self-play; off float32 by ${numberText(kl)} nats in the policy, ${numberText(error)} in the value`,
  ];
}

function showFacts() {
  const { counters } = report;
  const facts = [
    ["Game", gameFact(report.game)],
    ["Time", [minutesText(counters.minutes), `${countText(counters.iterations)} iterations`]],
    ["Self-play games", [countText(counters.games), ""]],
    ["Learning steps", [countText(counters.steps), "updates of the weights"]],
    ["Network", networkFact(report.network)],
    ["Elo", ratingFact(report.rating)],
    ["Gate", gateFact(report.gate)],
    ["Position suite", suiteFact(report.suite)],
    ["Inference", inferenceFact(report.inference)],
  ];
  byId("facts").innerHTML = facts
    .map(
      ([name, [value, note]]) =>
        `<div><dt>${name}</dt><dd><span class="big">${escapeText(value)}</span>${note ? `<span class="small">${escapeText(note)}</span>` : ""}</dd></div>`,
    )
    .join("");
  const { about } = report;
  byId("about").textContent =
    `Made on ${about.time} with alphago ${about.alphago}, Python ${about.python}, torch ${about.torch}, ` +
    `numpy ${about.numpy}, openvino ${about.openvino}, numba ${about.numba} and ray ${about.ray} on ${about.processor}, ` +
    `${about.usable_cpus} usable CPUs, ${about.gpu || "no GPU"} (${about.system}).`;
}

function showHeader() {
  byId("name").textContent = report.name;
  byId("lead").textContent =
    `A network learns ${report.game.split(":")[0].replaceAll("_", " ")} from nothing, by playing against itself: ` +
    `how it went, how strong it has become, and games to step through.`;
  const notices = [];
  if (report.ratings && report.ratings.alarm) notices.push(report.ratings.alarm);
  if (!report.curves.num_iterations)
    notices.push("The run has just begun: its first iteration is not finished.");
  byId("notices").innerHTML = notices
    .map((text) => `<p class="notice">${escapeText(text)}</p>`)
    .join("");
}

// --- record ---

function showNumbers() {
  const { x, tags } = report.curves;
  const names = Object.keys(tags);
  const rows = x.steps.map((step, i) => [
    numberText(x.minutes[i]),
    countText(step),
    countText(x.games[i]),
    ...names.map((tag) => numberText(tags[tag][i])),
  ]);
  byId("numbers").innerHTML = tableHtml(
    "All numbers",
    ["minutes", "steps", "games", ...names],
    rows,
    0,
  );
}

function showRecord() {
  byId("config").textContent = report.config;
  const sittings = report.sittings.map((one, i) => [
    countText(i + 1),
    escapeText(one.time),
    countText(one.step),
    countText(one.games),
  ]);
  byId("sittings").innerHTML = tableHtml(
    "Sittings",
    ["Sitting", "Began", "Step", "Games"],
    sittings,
    2,
  );
  const files = report.files.map((one) => [
    `<code>${escapeText(one.name)}</code>`,
    escapeText(one.meaning),
    countText(one.files),
    bytesText(one.bytes),
  ]);
  byId("files").innerHTML = tableHtml("Files", ["Name", "What it is", "Files", "Size"], files, 2);
  if (report.num_unreadable_lines) {
    byId("files").insertAdjacentHTML(
      "beforeend",
      `<p class="quiet">${countText(report.num_unreadable_lines)} lines of the log could not be read and are left out.</p>`,
    );
  }
}

function showGames() {
  byId("games-text").textContent = report.samples.length
    ? "Games of self-play from the beginning of the run to its newest ones. Orange is the search's policy when the game was played, which is what the network learns; " +
      `blue what the best network${isNumber(report.network.step) ? ` (step ${countText(report.network.step)})` : ""} thinks of the position today, without a search. ` +
      (report.board.actions === "cells" ? "A dashed square is the move that was played." : "")
    : "No finished game yet.";
  if (report.samples.length) new Viewer(report.board, report.samples);
}

// Each for itself, so that a part that cannot be shown does not take the others with it.
for (const show of [
  showHeader,
  showFacts,
  showLearning,
  showElo,
  showRatings,
  showSuite,
  showYardstick,
  showGate,
  showPlay,
  showCalibration,
  showGames,
  showNumbers,
  showRecord,
]) {
  try {
    show();
  } catch (error) {
    console.error(error);
    const text = `A part of this page could not be shown (${show.name}): ${error.message}`;
    byId("notices").insertAdjacentHTML("beforeend", `<p class="notice">${escapeText(text)}</p>`);
  }
}
byId("axis").addEventListener("change", () => updates.forEach((update) => update()));
