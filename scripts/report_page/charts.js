"use strict";
// Line charts as SVG, with axes, a legend that shows the values at the pointer, and keys to move it.

const MARGIN = { left: 50, right: 14, top: 26, bottom: 40 };
const LABEL_GAP = 15; // between the names of horizontal lines, which stand beside the plot
const LABEL_SHARE = 0.4; // of the chart's width for these names, at most
const LEADER = 16; // from a line to its name
const NUM_STYLES = 5;
const MANY_POINTS = 25; // beyond which a line has no dots

function escapeText(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(text).replace(/[&<>"']/g, (character) => entities[character]);
}

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

// A number for people: about four digits, thousands apart.
function numberText(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  if (size >= 1) return value.toFixed(size >= 10 ? 1 : 2);
  return size >= 0.001 ? value.toPrecision(3) : value.toExponential(1);
}

function percentText(share, digits = 1) {
  return isNumber(share) ? `${(100 * share).toFixed(digits)}\u00a0%` : "–";
}

function signedText(value) {
  return isNumber(value) ? `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}` : "–";
}

// Round numbers from `low` to `high`, about `count` of them, no closer than `least`.
function ticksOf(low, high, count, least = 0) {
  const rough = Math.max((high - low) / count, least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factors = least && power < 10 ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10];
  const step = factors.map((factor) => factor * power).find((size) => size >= rough * (1 - 1e-9));
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + step * 1e-9; tick += 1) {
    ticks.push(tick * step);
  }
  return { ticks, step };
}

function tickText(value, step, isPercent) {
  const unit = isPercent ? step * 100 : step;
  const shown = isPercent ? value * 100 : value;
  if (Math.abs(shown) >= 10000) return `${+(shown / 1000).toFixed(1)}k`;
  const power = Math.floor(Math.log10(unit) + 1e-9);
  const digits = Math.max(0, -power) + (Math.abs(unit / 10 ** power - 2.5) < 1e-6 && power < 1);
  if (shown !== 0 && unit < 0.001) return shown.toExponential(1);
  return shown.toFixed(digits).replace("-", "−") + (isPercent ? "\u00a0%" : "");
}

// The numbers from the least to the largest, with a little room; never an empty stretch, nor one
// shorter than `leastSpan`.
function extentOf(numbers, { fixed, withZero, room, leastSpan = 0 }) {
  if (fixed) return fixed;
  const known = numbers.filter(isNumber);
  let low = Math.min(...known, ...(withZero ? [0] : []));
  let high = Math.max(...known, ...(withZero ? [0] : []));
  if (high - low < 1e-12 * Math.max(1, Math.abs(low), Math.abs(high)))
    [low, high] = [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  const missing = Math.max(0, leastSpan - (high - low));
  [low, high] = [low - missing / 2, high + missing / 2];
  const space = (high - low) * room;
  return [withZero && low === 0 ? 0 : low - space, high + space];
}

/*
A chart in a figure. `update` draws it again with changes of the spec.

spec: title, text, empty (instead of a chart); x (numbers), xName, isCount; yName; series: [{ name, y, low, high, line,
hollow(i), radius(i), more(i) }];
lines: [{ y, label }]; isPercent, withZero, leastSpan (of the vertical axis), yRange, xRange, diagonal; format(value); height;
cursor (an index that is marked) and onPick(index), for charts that steer something; xText(index).
*/
class Chart {
  constructor(figure, spec) {
    this.figure = figure;
    this.spec = spec;
    this.pointed = null; // index under the pointer
    figure.classList.add("chart");
    this.build();
    new ResizeObserver(() => {
      if (this.plot && this.plot.clientWidth !== this.width) this.draw();
    }).observe(figure);
  }

  // Puts caption and plot into the figure, or says why there is no plot.
  build() {
    const { spec, figure } = this;
    const content = this.usable().length
      ? `<div class="legend"></div><div class="plot" tabindex="0" role="img"></div>`
      : `<p class="empty">${this.whyEmpty()}</p>`;
    figure.innerHTML = `<figcaption><h3>${escapeText(spec.title)}</h3><p>${spec.text || ""}</p></figcaption>${content}`;
    this.legend = figure.querySelector(".legend");
    this.plot = figure.querySelector(".plot");
    if (this.plot) this.start();
  }

  whyEmpty() {
    const { series, empty, xName } = this.spec;
    if (series.some((one) => one.y.some(isNumber)))
      return `No point is known by its ${xName}: choose another horizontal axis.`;
    return empty || "Nothing to show yet.";
  }

  start() {
    const { plot } = this;
    plot.addEventListener("pointermove", (event) => this.point(this.nearest(event)));
    plot.addEventListener("pointerleave", () => this.point(null));
    plot.addEventListener("blur", () => this.point(null));
    plot.addEventListener("click", (event) => this.pick(this.nearest(event)));
    plot.addEventListener("keydown", (event) => this.onKey(event));
    this.draw();
  }

  update(changes) {
    this.spec = { ...this.spec, ...changes };
    this.pointed = null;
    if (this.plot && this.usable().length) this.draw();
    else this.build();
  }

  draw() {
    const { spec, series, plot } = this;
    this.width = plot.clientWidth;
    const width = Math.max(200, this.width || 480);
    this.scale = scaleOf(spec, series, { width, height: spec.height || 230 });
    const marked = this.pointed ?? spec.cursor ?? null;
    plot.innerHTML = chartSvg(spec, series, this.scale, marked);
    plot.setAttribute("aria-label", chartSummary(spec, series));
    this.legend.innerHTML = legendHtml(spec, series, marked, this.usable().at(-1));
  }

  // The series of which there is something to see.
  get series() {
    const { x, series } = this.spec;
    return series.filter((one) => one.y.some((y, i) => isNumber(y) && isNumber(x[i])));
  }

  // The indices at which there is something to see.
  usable() {
    const { spec, series } = this;
    const isUsable = (x, i) => isNumber(x) && series.some((one) => isNumber(one.y[i]));
    return spec.x.map((x, i) => (isUsable(x, i) ? i : null)).filter(isNumber);
  }

  nearest(event) {
    const box = this.plot.getBoundingClientRect();
    const at = ((event.clientX - box.left) * this.scale.width) / box.width;
    const distance = (i) => Math.abs(this.scale.px(this.spec.x[i]) - at);
    return this.usable().reduce((best, i) => (distance(i) < distance(best) ? i : best));
  }

  point(index) {
    this.pointed = index;
    this.draw();
  }

  pick(index) {
    if (!this.spec.onPick) return;
    this.pointed = null;
    this.spec.onPick(index);
  }

  onKey(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const indices = this.usable();
    const at = indices.indexOf(this.pointed ?? this.spec.cursor ?? indices.at(-1));
    this.point(indices[Math.max(0, Math.min(indices.length - 1, at + move))]);
    this.pick(this.pointed);
  }
}

function scaleOf(spec, series, { width, height }) {
  const shown = spec.x.map((x, i) => (series.some((one) => isNumber(one.y[i])) ? x : null));
  const [x0, x1] = extentOf(shown, { fixed: spec.xRange, withZero: !spec.xRange, room: 0 });
  const values = series.flatMap((one) => [...one.y, ...(one.low || []), ...(one.high || [])]);
  values.push(...(spec.lines || []).map((line) => line.y));
  const { yRange: fixed, withZero, leastSpan } = spec;
  const [y0, y1] = extentOf(values, { fixed, withZero, leastSpan, room: 0.06 });
  const names = labelled(spec).map((line) => textWidth(line.label));
  const room = Math.min(Math.max(0, ...names), LABEL_SHARE * width); // for a name
  const right = width - MARGIN.right - (names.length ? LEADER + room : 0); // of the plot itself
  const tall = Math.max(height, MARGIN.top + MARGIN.bottom + LABEL_GAP * names.length);
  const bottom = tall - MARGIN.bottom;
  return {
    width,
    height: tall,
    right,
    bottom,
    room,
    x0,
    x1,
    y0,
    y1,
    px: (x) => MARGIN.left + ((x - x0) / (x1 - x0)) * (right - MARGIN.left),
    py: (y) => MARGIN.top + ((y1 - y) / (y1 - y0)) * (bottom - MARGIN.top),
  };
}

function chartSvg(spec, series, scale, marked) {
  const parts = [axesSvg(spec, scale), ...referencesSvg(spec, scale)];
  series.forEach((one) => parts.push(seriesSvg(spec, one, scale)));
  parts.push(...labelsSvg(spec, scale));
  if (marked !== null && isNumber(spec.x[marked])) {
    const x = scale.px(spec.x[marked]);
    parts.push(
      `<line class="cursor" x1="${x}" x2="${x}" y1="${MARGIN.top}" y2="${scale.bottom}"/>`,
    );
  }
  return `<svg viewBox="0 0 ${scale.width} ${scale.height}" aria-hidden="true">${parts.join("")}</svg>`;
}

function axesSvg(spec, scale) {
  const { height, right, bottom } = scale;
  const parts = [];
  const y = ticksOf(scale.y0, scale.y1, 4);
  for (const tick of y.ticks) {
    const at = scale.py(tick);
    parts.push(`<line class="grid" x1="${MARGIN.left}" x2="${right}" y1="${at}" y2="${at}"/>`);
    parts.push(
      `<text x="${MARGIN.left - 7}" y="${at + 4}" text-anchor="end">${tickText(tick, y.step, spec.isPercent)}</text>`,
    );
  }
  const most = Math.max(2, Math.min(7, Math.floor((right - MARGIN.left) / 60)));
  const x = ticksOf(scale.x0, scale.x1, most, spec.isCount ? 1 : 0);
  for (const tick of x.ticks) {
    const at = scale.px(tick);
    parts.push(`<line class="axis" x1="${at}" x2="${at}" y1="${bottom}" y2="${bottom + 4}"/>`);
    parts.push(
      `<text x="${at}" y="${bottom + 17}" text-anchor="middle">${tickText(tick, x.step, false)}</text>`,
    );
  }
  parts.push(
    `<line class="axis" x1="${MARGIN.left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`,
  );
  parts.push(
    `<text x="${right}" y="${height - 6}" text-anchor="end">${escapeText(spec.xName)}</text>`,
  );
  if (spec.yName) parts.push(`<text x="2" y="12">${escapeText(spec.yName)}</text>`);
  return parts.join("");
}

function referencesSvg(spec, scale) {
  const parts = (spec.lines || []).map(({ y }) => {
    const at = scale.py(y);
    return `<line class="reference" x1="${MARGIN.left}" x2="${scale.right}" y1="${at}" y2="${at}"/>`;
  });
  if (spec.diagonal) {
    const { px, py, x0, x1 } = scale;
    parts.push(
      `<line class="reference" x1="${px(x0)}" y1="${py(x0)}" x2="${px(x1)}" y2="${py(x1)}"/>`,
    );
  }
  return parts;
}

function labelled(spec) {
  return (spec.lines || []).filter((line) => line.label);
}

// The names of the horizontal lines beside the plot, apart from each other where lines are close.
function labelsSvg(spec, scale) {
  const { right, room, bottom } = scale;
  const lines = labelled(spec).sort((a, b) => b.y - a.y); // from the top
  const wished = lines.map((line) => scale.py(line.y));
  const places = spread(wished, LABEL_GAP, LABEL_GAP / 2, bottom);
  return lines.map(({ label }, i) => {
    const leader = `M${right} ${wished[i].toFixed(1)}L${right + LEADER - 4} ${places[i].toFixed(1)}`;
    const text = `<text class="label" x="${right + LEADER}" y="${(places[i] + 4).toFixed(1)}">${escapeText(fitText(label, room))}<title>${escapeText(label)}</title></text>`;
    return `<path class="leader" d="${leader}"/>${text}`;
  });
}

// Places as near as can be to the wished ones, which ascend: at least `gap` apart, from `low` to
// `high`. Neighbours that would overlap move as one group around the middle of their wishes.
function spread(wished, gap, low, high) {
  const groups = [];
  wished.forEach((place, i) => {
    let group = { mean: place - i * gap, size: 1 }; // where the first of all places would be
    while (groups.length && groups.at(-1).mean > group.mean) {
      const { mean, size } = groups.pop();
      const both = size + group.size;
      group = { mean: (mean * size + group.mean * group.size) / both, size: both };
    }
    groups.push(group);
  });
  const highest = high - (wished.length - 1) * gap;
  const firsts = groups.flatMap(({ mean, size }) => Array(size).fill(mean));
  return firsts.map((first, i) => Math.max(low, Math.min(highest, first)) + i * gap);
}

const measuring = document.createElement("canvas").getContext("2d");

// Pixels that a text in a plot is wide.
function textWidth(text) {
  measuring.font = `12px ${getComputedStyle(document.body).fontFamily}`; // see page.css
  return measuring.measureText(text).width;
}

function fitText(text, room) {
  if (textWidth(text) <= room) return text;
  let end = text.length;
  while (end > 0 && textWidth(`${text.slice(0, end)}…`) > room) end -= 1;
  return `${text.slice(0, end)}…`;
}

// The number of a series' colour and dashes in page.css.
function styleOf(spec, one) {
  return spec.series.indexOf(one) % NUM_STYLES;
}

function seriesSvg(spec, one, scale) {
  const style = styleOf(spec, one);
  const indices = spec.x.map((x, i) => i).filter((i) => isNumber(spec.x[i]) && isNumber(one.y[i]));
  const point = (i, y) => `${scale.px(spec.x[i]).toFixed(1)},${scale.py(y).toFixed(1)}`;
  const parts = [];
  if (one.low && indices.length > 1) {
    const upper = indices.map((i) => point(i, one.high[i]));
    const lower = indices.map((i) => point(i, one.low[i])).reverse();
    parts.push(`<polygon class="band s${style}" points="${[...upper, ...lower].join(" ")}"/>`);
  }
  if (one.line !== false) {
    parts.push(
      `<polyline class="series s${style}" points="${indices.map((i) => point(i, one.y[i])).join(" ")}"/>`,
    );
  }
  if (one.line === false || indices.length <= MANY_POINTS) {
    for (const i of indices) {
      const hollow = one.hollow && one.hollow(i) ? " hollow" : "";
      const radius = one.radius ? one.radius(i) : one.line === false ? 4.5 : 3;
      const [x, y] = point(i, one.y[i]).split(",");
      parts.push(`<circle class="dot s${style}${hollow}" cx="${x}" cy="${y}" r="${radius}"/>`);
    }
  }
  return parts.join("");
}

// The values at a marked index, or the newest of each series, which may be older than `last`.
function legendHtml(spec, series, marked, last) {
  const format = spec.format || (spec.isPercent ? percentText : numberText);
  const atText = (i) => (spec.xText ? spec.xText(i) : `at ${numberText(spec.x[i])} ${spec.xName}`);
  const items = series.map((one) => {
    const newest = spec.x.findLastIndex((x, i) => isNumber(x) && isNumber(one.y[i]));
    const index = marked ?? newest;
    const older = index < (marked ?? last) ? ` ${escapeText(atText(index))}` : "";
    const style = styleOf(spec, one);
    const symbol =
      one.line === false
        ? `<circle class="dot s${style}${one.hollow && one.hollow(index) ? " hollow" : ""}" cx="13" cy="5" r="4"/>`
        : `<line class="series s${style}" x1="0" x2="26" y1="5" y2="5"/>`;
    const range =
      one.low && isNumber(one.low[index])
        ? ` (${format(one.low[index])} to ${format(one.high[index])})`
        : "";
    const more = one.more ? one.more(index) : "";
    return `<span><svg width="26" height="10" aria-hidden="true">${symbol}</svg>${escapeText(one.name)} <b>${format(one.y[index])}</b>${range}${more}${older}</span>`;
  });
  return `${items.join("")}<span class="at">${escapeText(atText(marked ?? last))}</span>`;
}

function chartSummary(spec, series) {
  const format = spec.format || (spec.isPercent ? percentText : numberText);
  const parts = series.map((one) => {
    const known = one.y.filter(isNumber);
    return `${one.name}: from ${format(known[0])} to ${format(known[known.length - 1])}`;
  });
  return `${spec.title} over ${spec.xName}. ${parts.join("; ")}. Left and right arrow keys show single values.`;
}
