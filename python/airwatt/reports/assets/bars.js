// Horizontal bars of plain elements, which print, scale to any width and can be read aloud: energies beside their lower
// bounds, stacked shares, and the values of single runs.

const percent = (share) => `${(100 * share).toFixed(3)}%`;

/** Bars with 95 % intervals; a tick marks the lower bound. Rows are {name, value: [mean, ci95], bound, low, high, text, best}. */
function boundBars(rows, unit) {
  const most = Math.max(...rows.flatMap((row) => [row.value[0] + (row.value[1] ?? 0), row.high ?? 0, row.bound ?? 0])) || 1;
  const all = rows.flatMap((row) => [row.value[0], row.bound ?? 0]).filter((value) => value > 0);
  const isLogarithmic = hidesSmall(all);
  // Logarithmic bars begin at the decade below the least value.
  const least = isLogarithmic ? 10 ** (Math.ceil(Math.log10(Math.min(...all))) - 1) : 0;
  const at = (value) => (isLogarithmic ? Math.log(Math.max(value, least) / least) / Math.log(most / least) : value / most);
  const cells = rows.flatMap((row) => {
    const [mean, ci95] = row.value;
    const [low, high] = row.high == null ? [mean - (ci95 ?? 0), mean + (ci95 ?? 0)] : [row.low, row.high];
    const track = el(
      "div",
      { class: "track", role: "img", "aria-label": `${row.name}: ${row.text}`, title: `${row.name}: ${row.text}` },
      el("div", { class: row.best ? "bar best" : "bar", style: { width: percent(at(mean)) } }),
      high > low ? el("div", { class: "whisker", style: { left: percent(at(low)), width: percent(at(high) - at(low)) } }) : null,
      row.bound == null ? null : el("div", { class: "tick", style: { left: percent(at(row.bound)) } }),
    );
    return [el("div", { class: "name" }, row.name), track, el("div", { class: "number" }, row.text)];
  });
  const scale = el("div", { class: "scale", "aria-hidden": "true" }, el("span", {}, isLogarithmic ? `${quantity(least, unit)}, logarithmic` : "0"), el("span", {}, quantity(most, unit)));
  return el("div", { class: "bars" }, cells, scale);
}

/** Whether the largest value is 20 times the least above zero, which a linear scale would hide. */
function hidesSmall(values) {
  const seen = values.filter((value) => value > 0);
  return seen.length > 0 && Math.max(...seen) >= 20 * Math.min(...seen);
}

/**
 * Stacked bars of parts by name, all over the largest total, or each over its own if that would hide one. Rows are
 * {name, parts: {NAME: value}, text}.
 */
function stackedBars(rows, names, unit, kind) {
  const total = (parts) => names.reduce((sum, name) => sum + (parts[name] ?? 0), 0);
  const totals = rows.map((row) => total(row.parts));
  const isOwn = hidesSmall(totals);
  const largest = Math.max(...totals) || 1;
  const cells = rows.flatMap((row) => {
    const present = names.filter((name) => row.parts[name] > 0);
    const most = isOwn ? total(row.parts) || 1 : largest;
    const told = present.map((name) => `${plain(name)} ${quantity(row.parts[name], unit)}`).join(", ");
    const spans = present.map((name) =>
      el("span", {
        style: { width: percent(row.parts[name] / most), background: `var(--${kind}-${name})` },
        title: `${row.name}: ${plain(name)} ${quantity(row.parts[name], unit)} (${quantity(row.parts[name] / total(row.parts), "%")})`,
      }),
    );
    const stack = el("div", { class: "stack", role: "img", "aria-label": `${row.name}: ${told}` }, spans);
    return [el("div", { class: "name" }, row.name), stack, el("div", { class: "number" }, row.text)];
  });
  const note = isOwn ? el("p", { class: "faint" }, "Each bar is the whole of its row, since one length for all would hide the small rows.") : null;
  return el("div", {}, el("div", { class: "bars" }, cells), note);
}

const plain = (name) => (name === "flow" ? "packets of flows" : name.replaceAll("_", " "));

/** What colours stand for; entries are [name of the colour, text]. */
function legend(entries) {
  const items = entries.map(([name, text]) => el("li", {}, el("i", { style: { background: `var(--${name})` } }), text));
  return el("ul", { class: "legend" }, items);
}

/** The values of single runs as dots, or as bands from 5 to 95 % and 25 to 75 % if there are many; mean and interval. */
function distribution(rows, unit) {
  const all = rows.flatMap((row) => [...row.values, row.value[0] - (row.value[1] ?? 0), row.value[0] + (row.value[1] ?? 0)]);
  const [low, high] = extent(all);
  const isLogarithmic = low > 0 && high / low > 30;
  const place = (value) => (isLogarithmic ? Math.log(Math.max(value, low)) : value);
  const room = 0.04 * (place(high) - place(low) || Math.abs(place(high)) || 1);
  const [from, to] = [place(low) - room, place(high) + room];
  const at = (value) => percent((place(value) - from) / (to - from));
  const between = (a, b) => ({ left: at(a), width: percent((place(b) - place(a)) / (to - from)) });
  const cells = rows.flatMap((row) => {
    const [mean, ci95] = row.value;
    const sorted = [...row.values].sort((a, b) => a - b);
    const quantile = (share) => sorted[Math.min(sorted.length - 1, Math.round(share * (sorted.length - 1)))];
    const shown =
      sorted.length <= 200
        ? sorted.map((value) => el("div", { class: "dot", style: { left: at(value) } }))
        : [[0.05, 0.95], [0.25, 0.75]].map(([a, b]) => el("div", { class: "dot", style: { ...between(quantile(a), quantile(b)), borderRadius: "2px", marginLeft: 0 } }));
    const interval = ci95 ? el("div", { class: "interval", style: between(mean - ci95, mean + ci95) }) : null;
    const told = `${estimated(row.value, unit)}; ${sorted.length} runs from ${quantity(sorted[0], unit)} to ${quantity(sorted.at(-1), unit)}, median ${quantity(quantile(0.5), unit)}`;
    const track = el("div", { class: "track", role: "img", "aria-label": `${row.name}: ${told}`, title: told }, interval, shown, el("div", { class: "mean", style: { left: at(mean) } }));
    return [el("div", { class: "name" }, row.name), track, el("div", { class: "number" }, estimated(row.value, unit))];
  });
  const ends = [quantity(low, unit, 4), isLogarithmic ? "logarithmic" : "", quantity(high, unit, 4)];
  const scale = el("div", { class: "scale", "aria-hidden": "true" }, ends.map((text) => el("span", {}, text)));
  return el("div", { class: "bars" }, cells, scale);
}
