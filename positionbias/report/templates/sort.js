"use strict";
// A click on a heading sorts a table's rows: upwards, downwards, then as they were. What is missing stays last.
{
  const words = new Intl.Collator("en", { numeric: true });

  // Rows whose merged names are written out in each row, so that a row can stand anywhere.
  function wholeRows(table) {
    const rows = [];
    let above = [];
    for (const row of [...table.tBodies].flatMap(body => [...body.rows])) {
      const cells = [...row.cells];
      const whole = document.createElement("tr");
      const next = [];
      for (let column = 0; cells.length || above[column]; column++) {
        const covered = above[column];
        const cell = covered ? covered.cell : cells.shift();
        const left = (covered ? covered.left : cell.rowSpan) - 1;
        if (left > 0) next[column] = { cell, left };
        const copy = cell.cloneNode(true);
        copy.removeAttribute("rowspan");
        if (copy.scope === "rowgroup") copy.scope = "row";
        whole.append(copy);
      }
      above = next;
      rows.push(whole);
    }
    return rows;
  }

  function order(rows, column, down) {
    const numbers = rows.some(row => row.cells[column].dataset.value !== undefined);
    const keys = new Map(rows.map(row => {
      const { dataset, textContent } = row.cells[column];
      const text = textContent.trim();
      if (numbers) return [row, dataset.value === undefined ? NaN : Number(dataset.value)];
      return [row, text === "" || text === "\u2013" ? null : text];
    }));
    const missing = key => key === null || Number.isNaN(key);
    return [...rows].sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      return (numbers ? a - b : words.compare(a, b)) * (down ? -1 : 1);
    });
  }

  function makeSortable(table) {
    const heads = [...table.tHead.rows].at(-1).cells;
    const bodies = [...table.tBodies];
    const rows = wholeRows(table);
    if (rows.length < 2) return;
    [...heads].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort by this column";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")] ?? "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        for (const body of [...table.tBodies]) body.remove();
        if (now) {
          head.setAttribute("aria-sort", now);
          const body = document.createElement("tbody");
          body.append(...order(rows, column, now === "descending"));
          table.append(body);
        } else {
          table.append(...bodies);
        }
      });
    });
  }

  document.querySelectorAll("table").forEach(makeSortable);
}
