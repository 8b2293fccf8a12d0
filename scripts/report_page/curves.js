"use strict";
// The charts of a run: what it learnt, how strong it became, how it plays, what its values mean.

const updates = []; // functions that draw a chart with another horizontal axis

function axisName() {
  return document.querySelector("input[name=axis]:checked").value;
}

function addChart(place, spec, xOf) {
  const figure = document.createElement("figure");
  if (spec.wide) figure.classList.add("wide");
  byId(place).append(figure);
  const horizontal = () => ({
    x: xOf ? xOf(axisName()) : report.curves.x[axisName()],
    xName: axisName(),
    isCount: axisName() !== "minutes",
  });
  const chart = new Chart(figure, { ...spec, ...horizontal() });
  updates.push(() => chart.update(horizontal()));
}

function curve(name, tag, more = {}) {
  const empty = report.curves.x.steps.map(() => null);
  return { name, y: report.curves.tags[tag] || empty, ...more };
}

function showLearning() {
  const place = "learning-charts";
  const held = "held-out games";
  addChart(place, {
    title: "Policy loss",
    yName: "nats",
    text: "Cross-entropy of the network's move probabilities and the search's. Lower is better; it cannot fall below the entropy of the search itself.",
    series: [curve("training", "loss/policy"), curve(held, "heldout/policy_loss")],
  });
  addChart(place, {
    title: "Value loss",
    yName: "squared error, 0 to 4",
    withZero: true,
    text: "Squared error of the predicted result. On held-out games against the result alone, so that it stays above 0 where games are open.",
    series: [curve("training", "loss/value"), curve(held, "heldout/value_loss")],
  });
  addChart(place, {
    title: "What the network still lacks of the search",
    yName: "nats",
    withZero: true,
    text: "KL divergence of the network's policy from the search's. Near 0, searching adds nothing to the first thought.",
    series: [curve("training", "policy/kl_to_search"), curve(held, "heldout/kl_to_search")],
  });
  addChart(place, {
    title: "Entropy of the policy",
    yName: "nats",
    withZero: true,
    text: "How undecided the network is: near 0 it is sure of one move.",
    series: [curve("entropy", "policy/entropy")],
  });
  addChart(place, {
    title: "Learning rate",
    yName: "per step",
    withZero: true,
    text: "Size of an update, as scheduled.",
    series: [curve("learning rate", "optimizer/learning_rate")],
  });
  addChart(place, {
    title: "Speed of self-play",
    yName: "positions per second",
    withZero: true,
    text: "Moves made after a search, all actors together.",
    series: [curve("positions/s", "selfplay/positions_per_s")],
  });
}

function showSuite() {
  const tags = Object.keys(report.curves.tags).filter(
    (tag) => tag.startsWith("suite/") && tag !== "suite/minutes",
  );
  addChart("strength-charts", {
    title: "Position suite",
    isPercent: true,
    text: "Share of solved positions in which a best move was found: by the network alone (policy) and with a search.",
    empty: "This run has no suite of positions, or it has not been run yet.",
    series: tags.map((tag) => curve(tag.replace("suite/", ""), tag)),
  });
}

function showYardstick() {
  if (!("yardstick/score" in report.curves.tags)) return;
  addChart("strength-charts", {
    title: "Yardstick",
    isPercent: true,
    text: "Score of the best network against a player that never changes; see yardstick.player below.",
    series: [curve("score", "yardstick/score")],
  });
}

function showElo() {
  const players = report.ratings ? report.ratings.ratings : [];
  const rated = players.filter((one) => one.kind === "checkpoint").sort((a, b) => a.step - b.step);
  const anchors = players.filter((one) => one.kind === "anchor");
  const simulations = report.ratings && report.ratings.simulations;
  addChart(
    "strength-charts",
    {
      title: "Elo",
      wide: true,
      text: `Rating of the checkpoints${isNumber(simulations) ? ` with ${countText(simulations)} simulations a move` : ""}, with 95 % intervals. The dashed lines are players that never change.`,
      empty: `Not rated yet: <code>alphago rate RUN</code> plays the checkpoints against players that never change. Then make the report again.`,
      series: [
        {
          name: "checkpoints",
          y: rated.map((one) => one.elo),
          low: rated.map((one) => one.low),
          high: rated.map((one) => one.high),
          more: (i) => ` in ${countText(rated[i].num_games)} games`,
        },
      ],
      lines: anchors.map((one) => ({ y: one.elo, label: one.player })),
      height: 320,
    },
    (name) => rated.map((one) => one[name === "steps" ? "step" : name]),
  );
}

function showRatings() {
  if (!report.ratings) return;
  const rows = report.ratings.ratings.map((one) => [
    escapeText(one.player),
    numberText(one.elo),
    one.is_fixed ? "fixed" : `${numberText(one.low)} to ${numberText(one.high)}`,
    countText(one.num_games),
    percentText(one.score),
  ]);
  const heads = ["Player", "Elo", "95 % interval", "Games", "Score"];
  byId("ratings-table").innerHTML =
    `<details><summary>All ratings as a table</summary>${tableHtml("Ratings", heads, rows)}</details>`;
}

function showGate() {
  const { gate } = report;
  const promoted = curve("", "gate/promoted").y;
  const scores = curve("", "gate/score").y;
  const verdict = (wanted) =>
    scores.map((score, i) => ((promoted[i] === 1) === wanted ? score : null));
  addChart("strength-charts", {
    title: "Gate",
    isPercent: true,
    text: `Each candidate's score against the best network so far, in ${countText(gate.num_games)} games; a draw counts half. Dashed: the threshold, ${percentText(gate.threshold, 0)}.`,
    empty:
      gate.mode === "off"
        ? "The gate is off: every candidate becomes the best network, without a match."
        : "No candidate has been judged yet.",
    series: [
      { name: "promoted", y: verdict(true), line: false },
      { name: "rejected", y: verdict(false), line: false, hollow: () => true },
    ],
    lines: isNumber(gate.threshold) ? [{ y: gate.threshold, label: "" }] : [],
  });
}

function showPlay() {
  addChart("play-charts", {
    title: "Length of the games",
    yName: "moves",
    leastSpan: 2,
    text: "Mean number of moves, random opening moves included.",
    series: [curve("moves", "selfplay/game_length")],
  });
  addChart("play-charts", {
    title: "How the games end",
    isPercent: true,
    yRange: [0, 1],
    text: "Shares of the games; the score of who moves first counts a draw half.",
    series: [
      curve("first player's score", "selfplay/first_player_score"),
      curve("drawn", "selfplay/draws"),
      curve("truncated", "selfplay/truncated"),
    ],
  });
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
  addChart("calibration-charts", {
    title: "Calibration error over the run",
    yName: "value, 0 to 2",
    withZero: true,
    height: 300,
    text: "The same mean gap, for the network's own value on held-out games.",
    empty: "This run holds no games out.",
    series: [curve("network, held-out games", "value/calibration_error")],
  });
}

function showReliability(bins) {
  const most = Math.max(...bins.map((bin) => bin.count));
  const figure = document.createElement("figure");
  byId("calibration-charts").append(figure);
  new Chart(figure, {
    title: "Reliability",
    xName: "mean value of the search",
    yName: "mean result",
    text: "On the dashed diagonal, predictions come true. Above it they are too low. Larger dots are more positions.",
    x: bins.map((bin) => bin.value),
    xRange: [-1, 1],
    yRange: [-1, 1],
    diagonal: true,
    height: 300,
    format: signedText,
    xText: (i) => `at value ${signedText(bins[i].value)}`,
    series: [
      {
        name: "result",
        y: bins.map((bin) => bin.result),
        line: false,
        radius: (i) => 3 + 9 * Math.sqrt(bins[i].count / most),
        more: (i) => ` in ${countText(bins[i].count)} positions`,
      },
    ],
  });
  const rows = bins.map((bin) => [
    `${signedText(bin.low)} to ${signedText(bin.high)}`,
    countText(bin.count),
    signedText(bin.value),
    signedText(bin.result),
  ]);
  byId("calibration-table").innerHTML =
    `<details><summary>The bins as a table</summary>${tableHtml("Calibration by bins of the value", ["Value", "Positions", "Mean value", "Mean result"], rows)}</details>`;
}
