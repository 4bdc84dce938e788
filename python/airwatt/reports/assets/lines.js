// Curves with uPlot, and the axes of a sweep: lines with 95 % bands over one setting, or a heat map over two.

/** Draws curves of [{label, y, low, high}] over common x; returns the chart, which follows the width of its place. */
function curves(place, { x, xLabel, xUnit, yLabel, yUnit, series, logX, logY, categories }) {
  const axis = (label, unit) => ({
    label, labelSize: 22, labelFont: "12px system-ui", font: "11px system-ui", stroke: () => colour("ink"),
    grid: { stroke: () => colour("line"), width: 1 }, ticks: { stroke: () => colour("line"), width: 1 },
    values: (chart, splits) => splits.map((value) => (value === null ? null : categories && unit === null ? categories[value] ?? "" : quantity(value, unit ?? ""))),
  });
  const bands = [];
  const columns = [x];
  const lines = [{ label: xLabel, value: (_, value) => (value === null ? NOTHING : categories ? categories[value] : quantity(value, xUnit)) }];
  series.forEach(({ label, y, low, high }, index) => {
    const tint = () => colour(`series-${index % 10}`);
    const first = columns.length;
    columns.push(y);
    lines.push({ label, stroke: tint, width: 2, points: { size: 6, fill: tint }, dash: index >= 10 ? [6, 4] : undefined, value: (_, value) => quantity(value, yUnit) });
    if (!low) return;
    for (const edge of [high, low]) {
      columns.push(edge);
      lines.push({ label: "", show: true, stroke: "transparent", width: 0, points: { show: false } });
    }
    bands.push({ series: [first + 1, first + 2], fill: () => tinted(tint()) });
  });
  const options = {
    width: place.clientWidth || 320, height: 340,
    scales: { x: { time: false, distr: logX ? 3 : 1 }, y: { distr: logY ? 3 : 1, range: logY ? undefined : (_, low, high) => fromZero(low, high) } },
    axes: [{ ...axis(xLabel, categories ? null : xUnit), splits: categories ? () => x : undefined }, { ...axis(yLabel, yUnit), size: 78 }],
    series: lines, bands, legend: { live: true, markers: { width: 3 } }, cursor: { drag: { x: true, y: false } },
  };
  place.replaceChildren();
  const chart = new uPlot(options, columns, place);
  place.chart = chart;
  // The edges of bands are no series of their own.
  chart.root.querySelectorAll(".u-legend .u-series").forEach((row, index) => {
    if (lines[index].stroke === "transparent") row.style.display = "none";
  });
  const observer = new ResizeObserver(() => {
    if (!place.isConnected) observer.disconnect();
    else if (Math.abs(chart.width - place.clientWidth) > 2 && place.clientWidth) chart.setSize({ width: place.clientWidth, height: 340 });
  });
  observer.observe(place);
  return chart;
}

/** The same colour, mostly transparent. */
function tinted(text) {
  return /^#[0-9a-f]{6}$/i.test(text) ? `${text}33` : text;
}

/** An axis from zero unless the values are far above it. */
function fromZero(low, high) {
  if (low === null || high === null) return [0, 1];
  const room = 0.06 * (high - Math.min(low, 0) || 1);
  return [low > 0 && low > 0.7 * high ? low - 0.3 * (high - low || high) : Math.min(0, low), high + room];
}

/** The part of the page that shows a sweep over its axes. */
class SweepView {
  constructor(sweep, array) {
    this.sweep = sweep;
    this.codes = sweep.settings.map((setting) => array(setting.codes));
    this.metrics = sweep.metrics.map((metric) => ({ ...metric, mean: array(metric.mean), ci95: array(metric.ci95) }));
    this.place = el("div", { class: "chart" });
    this.told = el("p", { class: "faint" });
    const numbers = sweep.settings.map((_, index) => index).filter((index) => sweep.settings[index].numeric);
    const x = numbers[0] ?? 0;
    const others = sweep.settings.map((_, index) => index).filter((index) => index !== x);
    this.chosen = { form: "lines", y: 0, x, series: others.find((index) => !sweep.settings[index].numeric) ?? others[0] ?? -1, fixed: sweep.settings.map(() => 0) };
    this.tools = el("div", { class: "tools" });
    this.root = el("div", { class: "keep" }, this.tools, this.place, this.told);
    // uPlot measures its place, which has to be in the page.
    requestAnimationFrame(() => this.update());
  }

  select(label, entries, value, change) {
    const options = entries.map(([key, text]) => el("option", { value: key, selected: key === value }, text));
    return el("label", {}, label, el("select", { onchange: (event) => { change(event.target.value); this.update(); } }, options));
  }

  update() {
    const { settings } = this.sweep;
    const chosen = this.chosen;
    const named = settings.map((setting, index) => [index, setting.label]);
    const number = (key) => (value) => { chosen[key] = Number(value); };
    if (chosen.series === chosen.x) chosen.series = named.find(([index]) => index !== chosen.x)?.[0] ?? -1;
    const free = [chosen.x, chosen.series];
    this.tools.replaceChildren(
      this.select("as", [["lines", "lines"], ...(settings.length > 1 ? [["heat", "heat map"]] : [])], chosen.form, (value) => { chosen.form = value; }),
      this.select("number", this.metrics.map((metric, index) => [index, metric.label]), chosen.y, number("y")),
      this.select("across", named, chosen.x, number("x")),
      settings.length > 1 ? this.select(chosen.form === "heat" ? "down" : "a line for each", named.filter(([index]) => index !== chosen.x), chosen.series, number("series")) : "",
      ...named.filter(([index]) => !free.includes(index)).map(([index, label]) =>
        this.select(label, settings[index].values.map((value, code) => [code, shownSetting(settings[index], value)]), chosen.fixed[index], (value) => { chosen.fixed[index] = Number(value); })),
    );
    const metric = this.metrics[chosen.y];
    const table = this.cells(metric);
    if (chosen.form === "heat") this.place.replaceChildren(this.heat(metric, table));
    else this.lines(metric, table);
    this.told.textContent = `${metric.label}: mean of each point's runs${metric.ci95 ? ", band: 95 % confidence interval" : ""}.`;
  }

  /** For each value of the series setting and of x: the number of the point, or none. */
  cells() {
    const { x, series, fixed } = this.chosen;
    const { settings } = this.sweep;
    const rows = series < 0 ? 1 : settings[series].values.length;
    const table = Array.from({ length: rows }, () => new Array(settings[x].values.length).fill(null));
    for (let point = 0; point < this.sweep.points; point++) {
      const matches = fixed.every((code, index) => index === x || index === series || this.codes[index][point] === code);
      if (matches) table[series < 0 ? 0 : this.codes[series][point]][this.codes[x][point]] = point;
    }
    return table;
  }

  lines(metric, table) {
    const { settings } = this.sweep;
    const across = settings[this.chosen.x];
    const x = across.numeric ? across.values : across.values.map((_, index) => index);
    const at = (values, row) => row.map((point) => (point === null || Number.isNaN(values[point]) ? null : values[point]));
    const filled = table.map((row, index) => [row, index]).filter(([row]) => row.some((point) => point !== null));
    const series = filled.map(([row, index]) => {
      const y = at(metric.mean, row);
      const ci95 = at(metric.ci95, row);
      const edge = (sign) => y.map((value, i) => (value === null ? null : value + sign * (ci95[i] ?? 0)));
      const label = this.chosen.series < 0 ? metric.label : shownSetting(settings[this.chosen.series], settings[this.chosen.series].values[index]);
      return { label, y, low: edge(-1), high: edge(1) };
    });
    const spansDecades = (values) => { const [low, high] = extent(values); return low > 0 && high / low > 30; };
    curves(this.place, {
      x, xLabel: across.label, xUnit: across.unit, yLabel: metric.label, yUnit: metric.unit, series,
      logX: across.numeric && spansDecades(x), logY: spansDecades(series.flatMap(({ y, low }) => y.concat(low))),
      categories: across.numeric ? null : across.values.map((value) => shownSetting(across, value)),
    });
  }

  heat(metric, table) {
    const { settings } = this.sweep;
    const [across, down] = [settings[this.chosen.x], settings[this.chosen.series]];
    const [low, high] = extent(table.flat().map((point) => (point === null ? null : metric.mean[point])));
    const cell = (point) => {
      const value = point === null ? NaN : metric.mean[point];
      if (Number.isNaN(value)) return el("div", {}, NOTHING);
      const share = high > low ? (value - low) / (high - low) : 0;
      return el("div", { style: { background: viridis(share), color: share > 0.55 ? "#111" : "#fff" } }, quantity(value, metric.unit));
    };
    const head = (text) => el("div", { class: "head" }, text);
    const cells = [head(""), ...across.values.map((value) => head(shownSetting(across, value)))];
    table.forEach((row, index) => cells.push(head(shownSetting(down, down.values[index])), ...row.map(cell)));
    const told = `${metric.label} by ${across.label} (across) and ${down.label} (down), from ${quantity(low, metric.unit)} to ${quantity(high, metric.unit)}`;
    return el("div", { class: "heat", role: "img", "aria-label": told, tabindex: "0", style: { gridTemplateColumns: `repeat(${across.values.length + 1}, auto)` } }, cells);
  }
}

function shownSetting(setting, value) {
  return setting.numeric ? quantity(value, setting.unit) : String(value);
}

/** A colour of the viridis scale, by five of its points. */
function viridis(share) {
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const place = Math.min(3.999, 4 * share);
  const [a, b] = [stops[Math.floor(place)], stops[Math.floor(place) + 1]];
  const mixed = a.map((part, i) => Math.round(part + (b[i] - part) * (place - Math.floor(place))));
  return `rgb(${mixed.join(",")})`;
}
