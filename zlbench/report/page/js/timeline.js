// What the card did: cells as spans (A above B), and clock, temperature and power below them, lane by lane.

const CELL = { op: 0, round: 1, side: 2, start: 3, length: 4, clock: 5, temp: 6, power: 7, util: 8, throttle: 9, foreign: 10, invalid: 11 };
const SERIES = [["clock, MHz", 1, 78], ["temperature, °C", 2, 48], ["power, W", 3, 48]];
const [LEFT, CELLS_TOP, CELL_HEIGHT, GAP] = [76, 22, 11, 22];

function cardView() {
  const card = load("card");
  return card.lanes.map((lane) => laneView(card, lane));
}

function laneView(card, lane) {
  const ends = [...lane.cells.map((cell) => cell[CELL.start] + cell[CELL.length]), ...lane.points.map((point) => point[0])];
  const starts = [...lane.cells.map((cell) => cell[CELL.start]), ...lane.points.map((point) => point[0])];
  const all = [starts.reduce((a, b) => Math.min(a, b)), Math.max(1, ends.reduce((a, b) => Math.max(a, b)))];
  let view = all;
  let width = 0;
  const readout = el("p", { class: "readout" });
  const holder = el("div");
  const draw = () => width && holder.replaceChildren(lanePlot(card, lane, view, width, readout));
  const turn = (from, to) => {
    const length = Math.min(all[1] - all[0], Math.max(1, to - from));
    const start = Math.min(Math.max(all[0], from), all[1] - length);
    view = [start, start + length];
    draw();
  };
  const by = (factor) => {
    const middle = (view[0] + view[1]) / 2;
    const half = ((view[1] - view[0]) / 2) * factor;
    turn(middle - half, middle + half);
  };
  const button = (text, act) => el("button", { type: "button", class: "plain", click: act }, text);
  onWidth(holder, (room) => {
    width = room;
    draw();
  });
  const step = () => (view[1] - view[0]) / 2;
  const show = (start, length) => {
    turn(start - 4 * length, start + 5 * length);
    holder.scrollIntoView({ block: "center" });
  };
  return el("section", { "aria-label": `lane ${lane.lane}` },
    el("h3", {}, `Lane ${lane.lane}`),
    el("p", { class: "found" }, laneText(card, lane, all)),
    el("figure", {}, holder, cardLegend()),
    readout,
    el("p", { class: "pager" }, button("Zoom in", () => by(0.5)), button("Zoom out", () => by(2)),
      button("Earlier", () => turn(view[0] - step(), view[1] - step())), button("Later", () => turn(view[0] + step(), view[1] + step())),
      button("All", () => turn(...all))),
    lane.cells.length > 0 && lazy(`The same in numbers: ${count(lane.cells.length, "cell")}`, () => cellTable(card, lane.cells, show)));

  function laneText() {
    const bad = lane.cells.filter((cell) => cell[CELL.invalid]).length;
    const thinned = lane.read > lane.points.length ? `, drawn with the ${lane.points.length.toLocaleString("en")} that show their extremes` : "";
    return [count(lane.cells.length, "cell"), bad ? `${bad} of them in invalidated pairs` : "no pair invalidated",
      count(lane.read, "reading") + thinned, `from ${new Date((card.start + all[0]) * 1000).toISOString().replace("T", " ").slice(0, 19)} UTC`].join(" · ");
  }
}

function cardLegend() {
  const key = (sign, text) => el("span", {}, el("span", { class: "key", "aria-hidden": "true" }, sign), text);
  return el("figcaption", {}, key("■", "cell of side A"), key("□", "cell of side B"), key("✕", "pair invalidated: its time is dashed, its cause is in the table"),
    key("┊", "throttled"));
}

function lanePlot(card, lane, [from, to], width, readout) {
  const x = (at) => LEFT + ((at - from) / (to - from)) * (width - LEFT - 8);
  let y = CELLS_TOP + 2 * CELL_HEIGHT + GAP + 6;
  const cells = lane.cells.filter((cell) => cell[CELL.start] <= to && cell[CELL.start] + cell[CELL.length] >= from);
  const points = lane.points.filter((point, index) =>
    (lane.points[index + 1] || point)[0] >= from && (lane.points[index - 1] || point)[0] <= to);
  const parts = [];
  for (const [name, index, height] of SERIES) {
    const known = points.filter((point) => point[index] !== null);
    if (!known.length) continue;
    parts.push(seriesPlot(name, known, index, x, y, height, width));
    y += height + GAP + 6;
  }
  const height = y + 14;
  const cursor = svg("line", { class: "cursor", y1: CELLS_TOP, y2: y - GAP, x1: -9, x2: -9 });
  const id = `plot-${++plotNumber}`;
  const move = (event) => {
    const box = plot.getBoundingClientRect();
    const at = from + (((event.clientX - box.left) * (width / box.width) - LEFT) / (width - LEFT - 8)) * (to - from);
    cursor.setAttribute("x1", x(at));
    cursor.setAttribute("x2", x(at));
    readout.textContent = at >= from && at <= to ? readAt(card, cells, points, at) : "";
  };
  const plot = svg("svg", { class: "figure", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-title ${id}-desc`, pointermove: move },
    svg("title", { id: `${id}-title` }, `Card of lane ${lane.lane} over time`),
    svg("desc", { id: `${id}-desc` }, `${count(cells.length, "cell")} from ${clock(from)} to ${clock(to)}. The table below has the same in numbers.`),
    ticks60(from, to, Math.max(3, Math.floor(width / 130))).map((tick) => [
      svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: CELLS_TOP, y2: y - GAP }),
      svg("text", { x: x(tick), y: height - 4, "text-anchor": "middle" }, clock(tick)),
    ]),
    cellSpans(cells, x, y - GAP),
    parts, cursor);
  return plot;
}

/** Steps that people count time in. */
function ticks60(from, to, most) {
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].find((one) => (to - from) / one <= most) || 604800;
  const found = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) found.push(tick);
  return found;
}

/** One path a kind: thousands of cells are a few elements. */
function cellSpans(cells, x, bottom) {
  const box = (cell) => {
    const [start, end] = [x(cell[CELL.start]), x(cell[CELL.start] + cell[CELL.length])];
    const top = CELLS_TOP + (cell[CELL.side] === "A" ? 0 : CELL_HEIGHT + 3);
    return `M${start.toFixed(1)} ${top}H${Math.max(start + 0.8, end - 0.5).toFixed(1)}v${CELL_HEIGHT}H${start.toFixed(1)}z`;
  };
  const path = (kind, chosen) => svg("path", { class: kind, d: chosen.map(box).join("") });
  const bad = cells.filter((cell) => cell[CELL.invalid]);
  const good = cells.filter((cell) => !cell[CELL.invalid]);
  const marks = bad.map((cell) => (x(cell[CELL.start]) + x(cell[CELL.start] + cell[CELL.length])) / 2);
  return [
    svg("text", { x: LEFT - 8, y: CELLS_TOP + 9, "text-anchor": "end" }, "A"),
    svg("text", { x: LEFT - 8, y: CELLS_TOP + CELL_HEIGHT + 12, "text-anchor": "end" }, "B"),
    path("cell-a", good.filter((cell) => cell[CELL.side] === "A")), path("cell-b", good.filter((cell) => cell[CELL.side] !== "A")),
    path("cell-bad", bad),
    svg("path", { class: "bad", d: marks.map((at) => `M${at.toFixed(1)} ${CELLS_TOP}V${bottom}`).join("") }),
    marks.length <= 200 && marks.map((at) => svg("text", { x: at, y: CELLS_TOP - 6, "text-anchor": "middle" }, "✕")),
  ];
}

function seriesPlot(name, points, index, x, top, height, width) {
  const values = points.map((point) => point[index]);
  const [least, most] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const flat = most === least;
  const y = (value) => (flat ? top + height / 2 : top + height - ((value - least) / (most - least)) * height);
  const line = points.map((point, at) => `${at ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[index]).toFixed(1)}`).join("");
  const throttled = index === 1 ? points.filter((point) => point[4]) : [];
  return [
    svg("text", { x: LEFT, y: top - 7 }, name),
    svg("text", { x: LEFT - 8, y: y(most) + 4, "text-anchor": "end" }, Number(most.toPrecision(4))),
    !flat && svg("text", { x: LEFT - 8, y: y(least) + 4, "text-anchor": "end" }, Number(least.toPrecision(4))),
    svg("line", { class: "grid", x1: LEFT, x2: width - 8, y1: top + height, y2: top + height }),
    svg("path", { class: "series", d: line }),
    throttled.length > 0 && svg("path", { class: "bad", d: throttled.map((point) => `M${x(point[0]).toFixed(1)} ${top}v${height}`).join("") }),
  ];
}

function readAt(card, cells, points, at) {
  const cell = cells.find((one) => one[CELL.start] <= at && at <= one[CELL.start] + one[CELL.length]);
  const near = points.reduce((best, point) => (!best || Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best), null);
  const known = (value, unit) => value !== null && value !== undefined && `${value} ${unit}`;
  return [clock(at), cell && `${card.words[cell[CELL.op]]} round ${cell[CELL.round]} ${cell[CELL.side]}`,
    near && known(near[1], "MHz"), near && known(near[2], "°C"), near && known(near[3], "W"), near && card.words[near[4]],
    cell && card.words[cell[CELL.invalid]]].filter(Boolean).join(" · ");
}

/** Cells in numbers; `show` brings one into view, where there is a plot. */
function cellTable(card, cells, show) {
  const text = (place) => (item) => card.words[cells[item][place]];
  const number = (place, unit) => ({ cls: "num", sort: () => cells.map((cell) => cell[place]), cell: (item) => (cells[item][place] === null ? "-" : `${cells[item][place]} ${unit}`) });
  const table = new PagedTable({
    caption: "Cells", sorted: "start", size: 25,
    columns: [
      { key: "start", title: "At", cls: "num", sort: () => cells.map((cell) => cell[CELL.start]),
        cell: (item) => (show ? el("button", { type: "button", class: "plain", click: () => show(cells[item][CELL.start], cells[item][CELL.length]) }, clock(cells[item][CELL.start])) : clock(cells[item][CELL.start])) },
      { key: "op", title: "Operator", sort: () => ranks(cells.map((cell) => card.words[cell[CELL.op]])), cell: text(CELL.op) },
      { key: "round", title: "Round", cls: "num", sort: () => cells.map((cell) => cell[CELL.round]), cell: (item) => `${cells[item][CELL.round]} ${cells[item][CELL.side]}` },
      { key: "length", title: "Took", ...number(CELL.length, "s") },
      { key: "clock", title: "Clock", ...number(CELL.clock, "MHz") },
      { key: "temp", title: "Temperature", ...number(CELL.temp, "°C") },
      { key: "power", title: "Power", ...number(CELL.power, "W") },
      { key: "util", title: "Use", ...number(CELL.util, "%") },
      { key: "throttle", title: "Throttled", cell: text(CELL.throttle) },
      { key: "foreign", title: "Others at work", cell: text(CELL.foreign) },
      { key: "invalid", title: "Pair invalid by", first: -1, sort: () => cells.map((cell) => cell[CELL.invalid]), cell: text(CELL.invalid) },
    ],
  });
  table.show(cells.map((_, index) => index));
  return table.node;
}
