"use strict";
// A click on a heading sorts a table's rows: upwards, downwards, then as they were. What is missing stays last.
{
  const words = new Intl.Collator("en", { numeric: true });

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
    const body = table.tBodies[0];
    const rows = [...body.rows];
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
        if (now) head.setAttribute("aria-sort", now);
        body.append(...(now ? order(rows, column, now === "descending") : rows));
      });
    });
  }

  document.querySelectorAll("table").forEach(makeSortable);
}
