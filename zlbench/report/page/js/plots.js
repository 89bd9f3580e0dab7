// Plots of changes: one scale for all rows of a plot, zero and ±δ always on it.

/** Round up to one of these steps times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-9)) || value;
}

function ticks(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step) found.push(Number(tick.toPrecision(12)));
  return found;
}

function quantile(sorted, share) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0;
}

/** A scale from -most to +most on which everything is to be seen, unless it is far out: then nearly all estimates are. */
function symmetric(estimates, ends) {
  const sizes = estimates.filter((value) => value !== null).map(Math.abs).sort((a, b) => a - b);
  const furthest = ends.reduce((most, value) => (value === null ? most : Math.max(most, Math.abs(value))), 0);
  const usual = quantile(sizes, 0.95);
  return roundUp(Math.max(2 * load("main").delta, furthest <= 4 * usual ? 1.02 * furthest : 1.5 * usual));
}

/** The small picture in a table's line; its numbers stand beside it. */
function strip(look, estimate, low, high, most) {
  if (estimate === null) return "";
  const band = (50 * load("main").delta) / most;
  const at = (value) => `${(50 + (50 * Math.max(-most, Math.min(most, value))) / most).toFixed(2)}%`;
  const [from, to] = [low ?? estimate, high ?? estimate];
  return svg("svg", { class: `strip ${look}`, "aria-hidden": "true", focusable: "false" },
    svg("rect", { class: "band", x: `${50 - band}%`, width: `${2 * band}%`, height: "100%" }),
    svg("line", { class: "zero", x1: "50%", x2: "50%", y1: "0", y2: "100%" }),
    svg("line", { class: "span", x1: at(from), x2: at(to), y1: "50%", y2: "50%" }),
    svg("circle", { class: "mark", cx: at(estimate), cy: "50%", r: "3.5" }),
    from < -most && svg("text", { class: "cut", x: "0", y: "50%", dy: "0.35em" }, "‹"),
    to > most && svg("text", { class: "cut", x: "100%", y: "50%", dy: "0.35em", "text-anchor": "end" }, "›"));
}

function scaleHead(most) {
  return [el("span", { class: "ends", "aria-hidden": "true" }, el("span", {}, MINUS + most), el("span", {}, "0"), el("span", {}, "+" + most)),
    el("span", { class: "unseen" }, "plot")];
}

let plotNumber = 0;

/**
 * Estimates with intervals, and below each its rounds: circles where A came first, triangles where B did.
 * lanes: { name, look, est, lo, hi, dots: [[round, aFirst, change]], chosen }
 */
function forest(title, lanes, width) {
  const narrow = width < 640;
  const dots = lanes.some((lane) => lane.dots.length);
  const left = narrow ? 8 : Math.min(280, Math.round(width * 0.28));
  const right = narrow ? 8 : 168;
  const [top, laneHeight] = [34, (dots ? 42 : 26) + (narrow ? 18 : 0)];
  const height = top + lanes.length * laneHeight + 24;
  const [low, high] = domain(lanes);
  const x = (value) => left + ((Math.max(low, Math.min(high, value)) - low) / (high - low)) * (width - left - right);
  const id = `plot-${++plotNumber}`;
  const drawing = svg("svg", { class: "figure", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-title ${id}-desc` },
    svg("title", { id: `${id}-title` }, title),
    svg("desc", { id: `${id}-desc` }, lanes.map((lane) => `${lane.name}: ${laneText(lane)}.`).join(" ")),
    lanes.map((lane, index) => lane.chosen && svg("rect", { class: "chosen", x: 0, y: top + index * laneHeight, width, height: laneHeight })),
    axis(x, low, high, top, height, narrow),
    lanes.map((lane, index) => drawLane(lane, top + index * laneHeight, { x, low, high, left, right, width, laneHeight, narrow, dots })));
  return drawing;
}

function laneText(lane) {
  if (lane.est === null) return lane.said || "no estimate";
  return `${signed(lane.est)} %, interval ${signed(lane.lo)} to ${signed(lane.hi)} %, ${count(lane.dots.length, "round")}`;
}

/** Intervals in full, unless one is far wider than most; rounds as far as they are near them. */
function domain(lanes) {
  const delta = load("main").delta;
  const ends = lanes.flatMap((lane) => [lane.lo, lane.hi, lane.est]).filter((value) => value !== null);
  const rounds = lanes.flatMap((lane) => lane.dots.map((dot) => dot[2])).sort((a, b) => a - b);
  const sizes = ends.map(Math.abs).sort((a, b) => a - b);
  const most = Math.max(3 * delta, 4 * quantile(sizes, 0.7));
  const all = [...ends, quantile(rounds, 0.02), quantile(rounds, 0.98), -1.4 * delta, 1.4 * delta];
  const [low, high] = [Math.max(-most, Math.min(...all)), Math.min(most, Math.max(...all))];
  const margin = 0.04 * (high - low);
  return [low - margin, high + margin];
}

// A tick without the zeros behind its point; those before the point belong to the number.
function short(tick) {
  return signed(tick).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function axis(x, low, high, top, height, narrow) {
  const { delta, directions } = load("main");
  const marks = ticks(low, high, narrow ? 5 : 9);
  const bottom = height - 22;
  return [
    svg("rect", { class: "band", x: x(-delta), width: x(delta) - x(-delta), y: top - 4, height: bottom - top + 4 }),
    marks.map((tick) => svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top - 4, y2: bottom })),
    marks.map((tick) => svg("text", { x: x(tick), y: height - 7, "text-anchor": "middle" }, short(tick))),
    svg("line", { class: "zero", x1: x(0), x2: x(0), y1: top - 4, y2: bottom }),
    svg("text", { x: x(0) - 6, y: 13, "text-anchor": "end" }, `← B ${directions[0]}`),
    svg("text", { x: x(0) + 6, y: 13 }, `B ${directions[1]} →`),
    svg("text", { x: x(0), y: 27, "text-anchor": "middle" }, `±${delta} %`),
  ];
}

function drawLane(lane, y, at) {
  const { x, low, high, left, right, width, laneHeight, narrow, dots } = at;
  const line = y + (narrow ? 26 : dots ? 12 : 13);
  const room = Math.max(8, Math.floor((narrow ? width - 16 : left - 16) / 7.3));
  const name = lane.name.length > room ? lane.name.slice(0, Math.ceil(room * 0.6) - 1) + "…" + lane.name.slice(-Math.floor(room * 0.4)) : lane.name;
  return svg("g", { class: lane.look },
    svg("line", { class: "lane", x1: 0, x2: width, y1: y + laneHeight, y2: y + laneHeight }),
    svg("text", { class: "name", x: 4, y: narrow ? y + 13 : line + 4 }, name, svg("title", {}, lane.name)),
    lane.est === null
      ? svg("text", { x: narrow ? 8 : left, y: line + 4 }, lane.said || "no estimate")
      : [
        svg("line", { class: "span", x1: x(lane.lo ?? lane.est), x2: x(lane.hi ?? lane.est), y1: line, y2: line }),
        (lane.lo ?? 0) < low && svg("text", { class: "cut", x: left - 8, y: line + 4 }, "‹"),
        (lane.hi ?? 0) > high && svg("text", { class: "cut", x: width - right + 2, y: line + 4 }, "›"),
        svg("circle", { class: "mark", cx: x(lane.est), cy: line, r: 4.5 }),
        svg("text", { class: "value", x: narrow ? width - 4 : width - 106, y: narrow ? y + 13 : line + 4, "text-anchor": "end" }, signed(lane.est) + " %"),
        !narrow && svg("text", { x: width - 4, y: line + 4, "text-anchor": "end" }, span(lane.lo, lane.hi)),
      ],
    lane.dots.map(([round, aFirst, change]) => dot(x(change), line + (aFirst ? 12 : 21), round, aFirst, change, low, high)));
}

/** One round; what lies beyond the plot's edge is drawn as an arrow there. */
function dot(x, y, round, aFirst, change, low, high) {
  const said = svg("title", {}, `round ${round}, ${aFirst ? "A" : "B"} first: ${signed(change)} %`);
  const kind = aFirst ? "first-a" : "first-b";
  if (change < low) return svg("path", { class: kind, d: `M${x - 3} ${y}l6 -3.5v7z` }, said);
  if (change > high) return svg("path", { class: kind, d: `M${x + 3} ${y}l-6 -3.5v7z` }, said);
  return aFirst
    ? svg("circle", { class: kind, cx: x, cy: y, r: 3 }, said)
    : svg("path", { class: kind, d: `M${x} ${y - 3.6}l3.6 6.4h-7.2z` }, said);
}

/** Call `draw` with the width of a place once it has one, and when that changes. */
function onWidth(place, draw) {
  let width = 0;
  const look = () => {
    const room = Math.round(place.clientWidth);
    if (!room || Math.abs(room - width) < 8) return;
    width = room;
    draw(room);
  };
  // Drawn in the next frame: an observer that changes what it observes is an error.
  new ResizeObserver(() => requestAnimationFrame(look)).observe(place);
}

/** A plot that is as wide as its place. */
function fitted(draw) {
  const holder = el("div");
  onWidth(holder, (width) => holder.replaceChildren(draw(width)));
  return holder;
}

function legend() {
  const { interval, delta } = load("main");
  const key = (sign, text) => el("span", {}, el("span", { class: "key", "aria-hidden": "true" }, sign), text);
  return el("figcaption", {},
    key("━", `estimate and ${interval.toLowerCase()}, in percent`), key("●", "a round in which A came first"), key("△", "a round in which B came first"),
    key("▒", `±${delta} %: too small to matter`));
}
