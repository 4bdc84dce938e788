// Tables whose columns sort. A column is {label, unit, kind: "text" | "number" | "estimate", wrap}.

/** Makes a sortable table; rows are lists of values in the order of the columns, the first one names the row. */
function sortableTable(caption, columns, rows) {
  const body = el("tbody");
  const heads = columns.map((column, index) =>
    el(
      "th",
      { scope: "col", class: column.kind === "text" ? "text" : "", "aria-sort": "none", title: column.help },
      el("button", { type: "button", onclick: () => sort(index) }, column.label || "name"),
    ),
  );
  let order = rows.map((_, index) => index);
  const fill = () => body.replaceChildren(...order.map((index) => tableRow(columns, rows[index])));
  const sort = (index) => {
    const rising = heads[index].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head, other) => {
      head.setAttribute("aria-sort", other !== index ? "none" : rising ? "ascending" : "descending");
    });
    const key = (row) => sortKey(columns[index], rows[row][index]);
    order = order.map((row, place) => [row, place]).sort(([a, i], [b, j]) => compared(key(a), key(b), rising) || i - j).map(([row]) => row);
    fill();
  };
  fill();
  const label = el("caption", { class: "hidden" }, caption);
  const made = el("table", {}, label, el("thead", {}, el("tr", {}, heads)), body);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
}

function tableRow(columns, row) {
  const cells = columns.map((column, index) => {
    const text = cellText(column, row[index]);
    const kind = `${column.kind === "text" ? "text" : ""} ${column.wrap ? "wrap" : ""}`.trim();
    return index === 0 ? el("th", { scope: "row", class: "text" }, text) : el("td", { class: kind }, text);
  });
  return el("tr", {}, cells);
}

function cellText(column, value) {
  if (value === null || value === undefined) return NOTHING;
  if (column.kind === "text") return String(value);
  if (column.kind === "estimate") return estimated(value, column.unit);
  return quantity(value, column.unit);
}

function sortKey(column, value) {
  return column.kind === "estimate" && value ? value[0] : value;
}

/** Absent values come last in either direction. */
function compared(a, b, rising) {
  const missing = (value) => value === null || value === undefined;
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  const order = typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
  return rising ? order : -order;
}
