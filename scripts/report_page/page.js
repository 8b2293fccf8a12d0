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
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
}

// Cells are HTML; the first columns may be text, the others are numbers.
function tableHtml(caption, heads, rows, numText = 1) {
  const kind = (i) => (i < numText ? ' class="text"' : "");
  const head = heads.map((text, i) => `<th scope="col"${kind(i)}>${escapeText(text)}</th>`).join("");
  const body = rows.map((row) => `<tr>${row.map((cell, i) => `<td${kind(i)}>${cell}</td>`).join("")}</tr>`);
  return `<div class="scroll" tabindex="0" role="region" aria-label="${escapeText(caption)}"><table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

// --- at a glance ---

function networkFact({ num_blocks: blocks, num_channels: channels, num_parameters: parameters }) {
  const size = isNumber(parameters) ? `${countText(parameters)} parameters` : "no checkpoint yet";
  return [`${countText(blocks)} × ${countText(channels)}`, `residual blocks × channels, ${size}`];
}

function ratingFact(rating) {
  if (!rating) return ["not rated", `run alphago rate on the run, then make the report again`];
  return [numberText(rating.elo), `95 % interval ${numberText(rating.low)} to ${numberText(rating.high)}, at step ${countText(rating.step)}`];
}

function gateFact(gate) {
  if (!gate.last) return ["no candidate yet", ""];
  if (!isNumber(gate.last.score)) return ["off", `all ${countText(gate.num_candidates)} candidates became the best network`];
  const verdict = gate.last.promoted ? "promoted" : "rejected";
  return [
    `${countText(gate.num_promoted)} of ${countText(gate.num_candidates)} promoted`,
    `the last one scored ${percentText(gate.last.score)} (threshold ${percentText(gate.threshold, 0)}) and was ${verdict}`,
  ];
}

function suiteFact({ file, last }) {
  if (!last) return ["none", file ? "not run yet" : "no suite for this run"];
  const names = Object.entries(last).map(([tag, share]) => `${tag.replace("suite/", "")} ${percentText(share)}`);
  return [names.join(", "), `positions in which a best move was found${file ? `, suite ${file}` : ""}`];
}

function inferenceFact({ precision, wanted, policy_kl: kl, value_error: error }) {
  if (!precision) return [wanted || "–", "as asked for; the log does not say what was used"];
  return [precision, `in self-play; off float32 by ${numberText(kl)} nats in the policy, ${numberText(error)} in the value`];
}

function showFacts() {
  const { counters } = report;
  const facts = [
    ["Game", [report.game, ""]],
    ["Time", [minutesText(counters.minutes), `${countText(counters.iterations)} iterations`]],
    ["Self-play games", [countText(counters.games), ""]],
    ["Learning steps", [countText(counters.steps), "updates of the weights"]],
    ["Network", networkFact(report.network)],
    ["Elo", ratingFact(report.rating)],
    ["Gate", gateFact(report.gate)],
    ["Position suite", suiteFact(report.suite)],
    ["Inference", inferenceFact(report.inference)],
  ];
  byId("facts").innerHTML = facts.map(([name, [value, note]]) =>
    `<div><dt>${name}</dt><dd><span class="big">${escapeText(value)}</span>${note ? `<span class="small">${escapeText(note)}</span>` : ""}</dd></div>`).join("");
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
  if (!report.curves.num_iterations) notices.push("The run has just begun: its first iteration is not finished.");
  byId("notices").innerHTML = notices.map((text) => `<p class="notice">${escapeText(text)}</p>`).join("");
}

// --- curves ---

const updates = []; // functions that draw a chart with another horizontal axis

function axisName() {
  return document.querySelector("input[name=axis]:checked").value;
}

function addChart(place, spec, xOf) {
  const figure = document.createElement("figure");
  if (spec.wide) figure.classList.add("wide");
  byId(place).append(figure);
  const horizontal = () => ({ x: xOf ? xOf(axisName()) : report.curves.x[axisName()], xName: axisName() });
  const draw = drawChart(figure, { ...spec, ...horizontal() });
  updates.push(() => draw(horizontal()));
}

function curve(name, tag, more = {}) {
  const empty = report.curves.x.steps.map(() => null);
  return { name, y: report.curves.tags[tag] || empty, ...more };
}

function showLearning() {
  const place = "learning-charts";
  const held = "held-out games";
  addChart(place, { title: "Policy loss", yName: "nats",
    text: "Cross-entropy of the network's move probabilities and the search's. Lower is better; it cannot fall below the entropy of the search itself.",
    series: [curve("training", "loss/policy"), curve(held, "heldout/policy_loss")] });
  addChart(place, { title: "Value loss", yName: "squared error, 0 to 4", withZero: true,
    text: "Squared error of the predicted result. On held-out games against the result alone, so that it stays above 0 where games are open.",
    series: [curve("training", "loss/value"), curve(held, "heldout/value_loss")] });
  addChart(place, { title: "What the network still lacks of the search", yName: "nats", withZero: true,
    text: "KL divergence of the network's policy from the search's. Near 0, searching adds nothing to the first thought.",
    series: [curve("training", "policy/kl_to_search"), curve(held, "heldout/kl_to_search")] });
  addChart(place, { title: "Entropy of the policy", yName: "nats", withZero: true,
    text: "How undecided the network is: near 0 it is sure of one move.",
    series: [curve("entropy", "policy/entropy")] });
  addChart(place, { title: "Learning rate", yName: "per step", withZero: true, text: "Size of an update, as scheduled.",
    series: [curve("learning rate", "optimizer/learning_rate")] });
  addChart(place, { title: "Speed of self-play", yName: "positions per second", withZero: true,
    text: "Moves made after a search, all actors together.",
    series: [curve("positions/s", "selfplay/positions_per_s")] });
}

function showSuite() {
  const tags = Object.keys(report.curves.tags).filter((tag) => tag.startsWith("suite/") && tag !== "suite/minutes");
  addChart("strength-charts", { title: "Position suite", isPercent: true,
    text: "Share of solved positions in which a best move was found: by the network alone (policy) and with a search.",
    empty: "This run has no suite of positions, or it has not been run yet.",
    series: tags.map((tag) => curve(tag.replace("suite/", ""), tag)) });
}

function showElo() {
  const players = report.ratings ? report.ratings.ratings : [];
  const rated = players.filter((one) => one.kind === "checkpoint").sort((a, b) => a.step - b.step);
  const anchors = players.filter((one) => one.kind === "anchor");
  const simulations = report.ratings && report.ratings.simulations;
  addChart("strength-charts", { title: "Elo", wide: true,
    text: `Rating of the checkpoints${isNumber(simulations) ? ` with ${countText(simulations)} simulations a move` : ""}, with 95 % intervals. The dashed lines are players that never change.`,
    empty: `Not rated yet: <code>alphago rate RUN</code> plays the checkpoints against players that never change. Then make the report again.`,
    series: [{ name: "checkpoints", y: rated.map((one) => one.elo), low: rated.map((one) => one.low), high: rated.map((one) => one.high),
      more: (i) => ` in ${countText(rated[i].num_games)} games` }],
    lines: anchors.map((one) => ({ y: one.elo, label: one.player })), height: 320 },
  (name) => rated.map((one) => one[name === "steps" ? "step" : name]));
}

function showGate() {
  const { gate } = report;
  const promoted = curve("", "gate/promoted").y;
  const scores = curve("", "gate/score").y;
  const verdict = (wanted) => scores.map((score, i) => ((promoted[i] === 1) === wanted ? score : null));
  addChart("strength-charts", { title: "Gate", isPercent: true,
    text: `Each candidate's score against the best network so far, in ${countText(gate.num_games)} games; a draw counts half. Dashed: the threshold, ${percentText(gate.threshold, 0)}.`,
    empty: gate.mode === "off" ? "The gate is off: every candidate becomes the best network, without a match." : "No candidate has been judged yet.",
    series: [{ name: "promoted", y: verdict(true), line: false }, { name: "rejected", y: verdict(false), line: false, hollow: () => true }],
    lines: isNumber(gate.threshold) ? [{ y: gate.threshold, label: "" }] : [] });
}

function showPlay() {
  addChart("play-charts", { title: "Length of the games", yName: "moves", text: "Mean number of moves, random opening moves included.",
    series: [curve("moves", "selfplay/game_length")] });
  addChart("play-charts", { title: "How the games end", isPercent: true, yRange: [0, 1],
    text: "Shares of the games; the score of who moves first counts a draw half.",
    series: [curve("first player's score", "selfplay/first_player_score"), curve("drawn", "selfplay/draws"), curve("truncated", "selfplay/truncated")] });
}

function showCalibration() {
  const found = report.calibration;
  const error = (value) => `${numberText(value)}`;
  byId("calibration-text").textContent = found
    ? `The search's value at the root of ${countText(found.num_positions)} positions from the newest ${countText(found.num_games)} games, ` +
      `beside the mean result of these games, both for the player to move. Calibration error: ${error(found.error)} ` +
      `(mean gap over the bins; 0 is perfect, 2 the worst).`
    : "No finished game yet.";
  if (found) showReliability(found.bins);
  addChart("calibration-charts", { title: "Calibration error over the run", yName: "value, 0 to 2", withZero: true, height: 300,
    text: "The same mean gap, for the network's own value on held-out games.",
    empty: "This run holds no games out.",
    series: [curve("network, held-out games", "value/calibration_error")] });
}

function showReliability(bins) {
  const most = Math.max(...bins.map((bin) => bin.count));
  const figure = document.createElement("figure");
  byId("calibration-charts").append(figure);
  drawChart(figure, { title: "Reliability", xName: "mean value of the search", yName: "mean result",
    text: "On the dashed diagonal, predictions come true. Above it they are too low. Larger dots are more positions.",
    x: bins.map((bin) => bin.value), xRange: [-1, 1], yRange: [-1, 1], diagonal: true, height: 300, format: signedText,
    xText: (i) => `at value ${signedText(bins[i].value)}`,
    series: [{ name: "result", y: bins.map((bin) => bin.result), line: false,
      radius: (i) => 3 + 9 * Math.sqrt(bins[i].count / most), more: (i) => ` in ${countText(bins[i].count)} positions` }] });
  const rows = bins.map((bin) => [`${signedText(bin.low)} to ${signedText(bin.high)}`, countText(bin.count), signedText(bin.value), signedText(bin.result)]);
  byId("calibration-table").innerHTML = `<details><summary>The bins as a table</summary>${tableHtml("Calibration by bins of the value", ["Value", "Positions", "Mean value", "Mean result"], rows)}</details>`;
}

// --- record ---

function showNumbers() {
  const { x, tags } = report.curves;
  const names = Object.keys(tags);
  const rows = x.steps.map((step, i) => [
    numberText(x.minutes[i]), countText(step), countText(x.games[i]), ...names.map((tag) => numberText(tags[tag][i]))]);
  byId("numbers").innerHTML = tableHtml("All numbers", ["minutes", "steps", "games", ...names], rows, 0);
}

function showRecord() {
  byId("config").textContent = report.config;
  const sittings = report.sittings.map((one, i) => [countText(i + 1), escapeText(one.time), countText(one.step), countText(one.games)]);
  byId("sittings").innerHTML = tableHtml("Sittings", ["Sitting", "Began", "Step", "Games"], sittings, 2);
  const files = report.files.map((one) => [`<code>${escapeText(one.name)}</code>`, escapeText(one.meaning), countText(one.files), bytesText(one.bytes)]);
  byId("files").innerHTML = tableHtml("Files", ["Name", "What it is", "Files", "Size"], files, 2);
  if (report.num_unreadable_lines) {
    byId("files").insertAdjacentHTML("beforeend", `<p class="quiet">${countText(report.num_unreadable_lines)} lines of the log could not be read and are left out.</p>`);
  }
}

function showGames() {
  byId("games-text").textContent = report.samples.length
    ? "Games of self-play from the beginning of the run to its newest ones. Orange is the search's policy when the game was played, which is what the network learns; " +
      `blue what the best network${isNumber(report.network.step) ? ` (step ${countText(report.network.step)})` : ""} thinks of the position today, without a search. ` +
      (report.board.actions === "cells" ? "A dashed square is the move that was played." : "")
    : "No finished game yet.";
  if (report.samples.length) startViewer(report.board, report.samples);
}

showHeader();
showFacts();
showLearning();
showElo();
showSuite();
showGate();
showPlay();
showCalibration();
showGames();
showNumbers();
showRecord();
byId("axis").addEventListener("change", () => updates.forEach((update) => update()));
