"use strict";
// The explorer: its data are unpacked, filtered, sorted and shown a page at a time. Texts become text nodes only.
{
  const ROWS = 12, STRIPS = 10;
  const whole = new Intl.NumberFormat("en");

  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };
  const number = (value, digits, sign = false) => {
    if (value === null || value === undefined) return "\u2013";
    const text = Math.abs(value).toFixed(digits);
    if (value < 0 && Number(text) !== 0) return `\u2212${text}`;
    return sign && Number(text) !== 0 ? `+${text}` : text;
  };
  const percent = value => value === null ? "\u2013" : `${Math.round(100 * value)}\u00a0%`;
  const minus = (after, before) => after === null || before === null ? null : after - before;

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  // One system's columns and effects. An effect is a column of differences with its name and digits.
  function systemOf(data, one) {
    const column = name => data.columns[one[name]];
    const [before, after, rankBefore, rankAfter] = ["before", "after", "rankBefore", "rankAfter"].map(column);
    const effects = [];
    const add = (name, brief, values, digits, unit = "") => {
      if (values.some(value => value !== null)) effects.push({ name, brief, values, digits, unit });
    };
    add(`${one.quality}: rotated \u2212 as it is`, "Change", after.map((value, i) => minus(value, before[i])), 3);
    add("ranks gained by rotation", "Ranks gained", rankAfter.map((value, i) => minus(rankBefore[i], value)), 0);
    for (const [name, index] of one.moved) add(name, name, data.columns[index], 3, one.unit);
    return { ...one, ids: column("query"), passages: column("passage"), places: column("place"), lengths: column("words"),
             before, after, rankBefore, rankAfter, effects };
  }

  // The pieces of a passage, original or rotated: texts, marked where the answer is, and null for the cut.
  function pieces(text, answer, cut, rotated) {
    const [start, end] = answer ?? [0, 0];
    const bounds = [...new Set([0, start, end, cut, text.length])].sort((a, b) => a - b);
    const parts = bounds.slice(1).map((to, i) => ({ from: bounds[i], text: text.slice(bounds[i], to), marked: bounds[i] >= start && to <= end }));
    if (!cut) return parts;
    const [first, second] = [parts.filter(part => part.from < cut), parts.filter(part => part.from >= cut)];
    return rotated ? [...second, { text: " " }, null, ...first] : [...first, null, ...second];
  }

  function passage(name, text, answer, cut, rotated) {
    const paragraph = element("p", { dir: "auto" });
    for (const piece of pieces(text, answer, cut, rotated)) {
      if (piece === null) {
        const mark = element("span", { className: "cut", title: "the cut" });
        mark.setAttribute("role", "img");
        mark.setAttribute("aria-label", "the cut");
        paragraph.append(mark);
      } else {
        paragraph.append(piece.marked ? element("mark", {}, piece.text) : piece.text);
      }
    }
    return element("div", {}, element("p", { className: "which" }, name), paragraph);
  }

  // Ours alone, without anything of the data.
  const MARKUP = `
    <div class="choose" role="search" aria-label="Choose queries">
      <label class="of-systems">System <select class="system"></select></label>
      <label>Effect <select class="effect"></select></label>
      <label>Direction <select class="direction"><option value="">all</option><option value="-1">below 0</option><option value="1">above 0</option><option value="0">unchanged</option></select></label>
      <label>At least <input class="least" type="number" min="0" step="any" inputmode="decimal" placeholder="0"></label>
      <label class="wide">Find <input class="find" type="search" placeholder="id or words" autocomplete="off" spellcheck="false"></label>
    </div>
    <div class="places">
      <div class="plot"><canvas aria-hidden="true"></canvas><div class="strips" role="group" aria-label="Choose queries by the place of their answer"></div></div>
      <p class="axis" aria-hidden="true"><span>answer at the front</span><span class="extent"></span><span>at the end</span></p>
    </div>
    <p class="counted"><span role="status"></span> <button type="button" class="all" hidden>Show all</button></p>
    <div class="scroll" role="region" tabindex="-1" aria-label="Queries"><table><thead><tr></tr></thead><tbody></tbody></table></div>
    <p class="pages"><button type="button" class="back">Previous</button> <button type="button" class="next">Next</button> <span class="of range-shown"></span></p>
    <p class="notes">Rotated: the first rotation of all passages. Arrow keys move through the list, Enter opens a query, Escape closes it.</p>
    <div class="opened" role="region" aria-label="The open query" hidden></div>`;

  class Explorer {
    constructor(root, data) {
      this.root = root;
      this.find = selector => root.querySelector(selector);
      this.texts = data.texts;
      this.systems = data.systems.map((one, number) => ({ ...systemOf(data, one), number })).filter(one => one.effects.length);
      this.strips = new Set();
      this.open = null;
      this.find(".places").hidden = !this.systems.some(one => one.places.some(place => place !== null));
      this.fill(".system", this.systems.map(one => one.name));
      this.find(".of-systems").hidden = this.systems.length < 2;
      this.listen();
      this.choose(0);
    }

    fill(selector, names) {
      this.find(selector).replaceChildren(...names.map((name, i) => element("option", { value: i }, name)));
    }

    choose(place) {
      this.system = this.systems[place];
      this.fill(".effect", this.system.effects.map(effect => effect.unit ? `${effect.name} (${effect.unit})` : effect.name));
      this.head();
      this.update();
    }

    get effect() {
      return this.system.effects[this.find(".effect").value || 0];
    }

    // The columns of the list: heading, text and value of a query, and whether a narrow screen has room for it.
    head() {
      const { system } = this;
      const value = (name, values, show, more = true) => ({ name, show: i => show(values[i]), key: i => values[i], more });
      this.columns = [
        { name: "Query", show: i => this.nameOf(i), key: i => this.nameOf(i), more: false },
        value(this.effect.brief, this.effect.values, x => number(x, this.effect.digits, true), false),
        value("Place", system.places, percent, false),
        value("Words", system.lengths, length => whole.format(length)),
        value(system.quality, system.before, x => number(x, 3)),
        value(`${system.quality} rotated`, system.after, x => number(x, 3)),
        value("Rank", system.rankBefore, rank => number(rank, 0)),
        value("Rank rotated", system.rankAfter, rank => number(rank, 0)),
      ].filter(column => system.ids.some((_, i) => column.key(i) !== null));
      this.order = null;
      const heads = this.columns.map((column, place) => {
        const button = element("button", { type: "button", title: "Sort by this column" }, column.name);
        button.addEventListener("click", () => this.sort(place));
        return element("th", { scope: "col", className: `${place ? "number" : ""} ${column.more ? "more" : ""}` }, button);
      });
      this.find("thead tr").replaceChildren(...heads);
    }

    nameOf(i) {
      const id = this.system.ids[i];
      return this.texts?.queries[id] || id;
    }

    sort(place) {
      const now = this.order?.place === place ? this.order.down : undefined;
      this.order = now === undefined ? { place, down: false } : now ? null : { place, down: true };
      [...this.find("thead tr").cells].forEach((head, i) => {
        if (this.order?.place === i) head.setAttribute("aria-sort", this.order.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      this.update();
    }

    // A query by the effect's sign and size and by words; the strips of places apply to the list alone.
    passes(i) {
      const { sign, least, words } = this.wanted;
      const value = this.effect.values[i];
      if (sign !== "" && (value === null || Math.sign(value) !== sign)) return false;
      if (least > 0 && !(Math.abs(value) >= least)) return false;
      return !words || this.searched(i).includes(words);
    }

    searched(i) {
      const { ids, passages } = this.system;
      const texts = this.texts?.queries[ids[i]] === undefined ? [] : [this.texts.queries[ids[i]], this.texts.passages[passages[i]]];
      return [ids[i], passages[i], ...texts].join("\n").toLowerCase();
    }

    stripOf(i) {
      const place = this.system.places[i];
      return place === null ? null : Math.min(STRIPS - 1, Math.floor(place * STRIPS));
    }

    update() {
      const sign = this.find(".direction").value;
      this.wanted = { sign: sign === "" ? "" : Number(sign), least: Number(this.find(".least").value) || 0,
                      words: this.find(".find").value.trim().toLowerCase() };
      const passing = this.system.ids.map((_, i) => i).filter(i => this.passes(i));
      this.list = passing.filter(i => !this.strips.size || this.strips.has(this.stripOf(i)));
      const largest = i => -Math.abs(this.effect.values[i]);
      const { key } = this.order ? this.columns[this.order.place] : {};
      const compare = (a, b) => typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
      const missing = i => (key ? key(i) : this.effect.values[i]) === null;
      this.list.sort((a, b) => missing(a) - missing(b) ||
        (missing(a) ? 0 : key ? compare(key(a), key(b)) * (this.order.down ? -1 : 1) : largest(a) - largest(b)) || a - b);
      this.at = Math.max(0, this.list.indexOf(this.open));
      this.plot(passing);
      if (this.list.includes(this.open)) this.look(this.open, false);
      else this.close(false);
      const all = this.system.ids.length;
      this.find("[role=status]").textContent = `${whole.format(this.list.length)} of ${whole.format(all)} queries`;
      this.find(".all").hidden = this.list.length === all;
    }

    show() {
      const first = Math.floor(this.at / ROWS) * ROWS, shown = this.list.slice(first, first + ROWS);
      this.find("tbody").replaceChildren(...shown.map((i, row) => {
        const button = element("button", { type: "button", tabIndex: first + row === this.at ? 0 : -1 }, element("bdi", {}, this.nameOf(i)));
        button.setAttribute("aria-expanded", i === this.open);
        const cells = this.columns.slice(1).map(column =>
          element("td", { className: `number ${column.more ? "more" : ""}` }, column.show(i)));
        const line = element("tr", { className: i === this.open ? "is-open" : "" }, element("th", { scope: "row" }, button), ...cells);
        line.addEventListener("click", () => { this.at = first + row; this.look(i); });
        return line;
      }));
      this.find(".range-shown").textContent = shown.length
        ? `${whole.format(first + 1)}\u2013${whole.format(first + shown.length)} of ${whole.format(this.list.length)}` : "No query is like this.";
      this.find(".back").disabled = first === 0;
      this.find(".next").disabled = first + ROWS >= this.list.length;
    }

    // Moves to a place of the list, its page with it, and the focus; an open query follows.
    go(at) {
      if (!this.list.length) return;
      this.at = Math.max(0, Math.min(at, this.list.length - 1));
      if (this.open === null) this.show();
      else this.look(this.list[this.at]);
      this.find("tbody button[tabindex='0']")?.focus();
    }

    look(i, moves = true) {
      this.open = i;
      this.show();
      const panel = this.find(".opened");
      panel.replaceChildren(...this.opened(i));
      panel.hidden = false;
      if (!moves) return;
      panel.scrollIntoView({ block: "nearest" });
      this.find("tbody button[tabindex='0']").focus({ preventScroll: true });
    }

    close(moves = true) {
      const wasOpen = this.open !== null;
      this.open = null;
      this.find(".opened").hidden = true;
      this.show();
      if (moves && wasOpen) this.find("tbody button[tabindex='0']")?.focus();
    }

    opened(i) {
      const { system, texts } = this;
      const id = system.ids[i], passageId = system.passages[i], text = texts?.passages[passageId];
      const figure = (name, value) => element("div", {}, element("dt", {}, name), element("dd", {}, value));
      const arrow = (before, after, digits) => `${number(before, digits)} \u2192 ${number(after, digits)}`;
      const figures = [figure("Words", whole.format(system.lengths[i]))];
      if (system.places[i] !== null) figures.unshift(figure("Answer at", percent(system.places[i])));
      if (system.after[i] !== null) {
        figures.push(figure(system.quality, arrow(system.before[i], system.after[i], 3)));
        figures.push(figure("Rank", arrow(system.rankBefore[i], system.rankAfter[i], 0)));
      }
      for (const effect of system.effects.filter(one => one.unit && one.values[i] !== null)) {
        figures.push(figure(effect.name, `${number(effect.values[i], effect.digits, true)} ${effect.unit}`));
      }
      const close = element("button", { type: "button", className: "close" }, "Close");
      close.addEventListener("click", () => this.close());
      const quoted = text !== undefined && texts.queries[id] !== undefined;
      return [
        element("div", { className: "head" }, element("h4", {}, element("bdi", {}, this.nameOf(i))), element("p", {}, close)),
        element("dl", { className: "figures" }, ...figures),
        ...(quoted ? this.quoted(text, texts.answers[id], texts.cuts[system.number][passageId])
          : [element("p", { className: "notes" }, "The texts of this query are not on this page.")]),
        element("p", { className: "notes" }, "Query ", element("bdi", {}, id), ", passage ", element("bdi", {}, passageId)),
      ];
    }

    quoted(text, answer, cut) {
      const pair = element("div", { className: "pair" }, passage("As it is", text, answer, cut ?? 0, false));
      if (cut) pair.append(passage("Rotated at the cut", text, answer, cut, true));
      if (cut !== 0) return [pair];
      return [pair, element("p", { className: "notes" }, "This rotation left the passage as it is; the passages beside it were rotated.")];
    }

    // Each query a dot by place and effect, behind ten strips that choose places.
    plot(passing) {
      const strips = this.find(".strips");
      const { values, digits } = this.effect;
      const within = Array.from({ length: STRIPS }, (_, strip) => passing.filter(i => this.stripOf(i) === strip && values[i] !== null));
      this.means = within.map(of => of.length ? of.reduce((sum, i) => sum + values[i], 0) / of.length : null);
      if (!strips.children.length) {
        strips.append(...within.map((_, strip) => {
          const button = element("button", { type: "button" });
          button.addEventListener("click", () => {
            if (!this.strips.delete(strip)) this.strips.add(strip);
            this.update();
          });
          return button;
        }));
      }
      within.forEach((of, strip) => {
        const button = strips.children[strip];
        button.setAttribute("aria-pressed", this.strips.has(strip));
        button.title = `Answers at ${10 * strip}\u2013${10 * strip + 10}\u00a0%: ${whole.format(of.length)} queries, mean ${number(this.means[strip], digits, true)}`;
        button.setAttribute("aria-label", button.title);
      });
      this.dots = passing;
      this.draw();
    }

    draw() {
      const canvas = this.find("canvas");
      if (!canvas.clientWidth) return;
      const { values, digits } = this.effect, scale = window.devicePixelRatio || 1;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      Object.assign(canvas, { width: width * scale, height: height * scale });
      const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
      const most = values.reduce((largest, value) => Math.max(largest, Math.abs(value ?? 0)), 0) || 1;
      context.scale(scale, scale);
      context.fillStyle = style.getPropertyValue("--line");
      context.fillRect(0, height / 2, width, 1);
      context.fillStyle = style.color;
      context.globalAlpha = Math.max(0.25, Math.min(0.8, 300 / this.dots.length));
      for (const i of this.dots) {
        if (values[i] === null || this.system.places[i] === null) continue;
        context.beginPath();
        context.arc(4 + this.system.places[i] * (width - 8), height / 2 - values[i] / most * (height / 2 - 6), this.dots.length < 1000 ? 3.5 : 2.5, 0, 7);
        context.fill();
      }
      context.globalAlpha = 1;
      context.fillStyle = style.getPropertyValue("--ink");
      this.means.forEach((mean, strip) => {
        if (mean !== null) context.fillRect(strip * width / STRIPS + 3, height / 2 - mean / most * (height / 2 - 6) - 1, width / STRIPS - 6, 2);
      });
      this.find(".extent").textContent = `a dot a query, bars are means; height ${number(-most, digits)} to ${number(most, digits, true)}`;
    }

    listen() {
      const on = (selector, event, act) => this.find(selector).addEventListener(event, act);
      on(".system", "input", event => this.choose(Number(event.target.value)));
      on(".effect", "input", () => { this.head(); this.update(); });
      for (const selector of [".direction", ".least", ".find"]) on(selector, "input", () => this.update());
      on(".all", "click", () => {
        for (const selector of [".direction", ".least", ".find"]) this.find(selector).value = "";
        this.strips.clear();
        this.update();
        this.find(".find").focus();
      });
      on(".back", "click", () => { this.at = Math.max(0, this.at - ROWS); this.show(); });
      on(".next", "click", () => { this.at = Math.min(this.list.length - 1, this.at + ROWS); this.show(); });
      const first = () => Math.floor(this.at / ROWS) * ROWS;
      const keys = { ArrowDown: () => this.at + 1, ArrowUp: () => this.at - 1, PageDown: () => this.at + ROWS, PageUp: () => this.at - ROWS,
                     Home: () => first(), End: () => first() + ROWS - 1 };
      on("tbody", "keydown", event => {
        if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        this.go(keys[event.key]());
      });
      this.root.addEventListener("keydown", event => { if (event.key === "Escape") this.close(); });
      new ResizeObserver(() => this.draw()).observe(this.root);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }
  }

  document.querySelectorAll("[data-script=explorer]").forEach(async root => {
    const { packed } = JSON.parse(root.querySelector("script").textContent), fallback = root.querySelector(".fallback");
    try {
      const data = await unpack(packed);
      root.insertAdjacentHTML("beforeend", MARKUP);
      root.classList.add("explorer");
      new Explorer(root, data);
      root.dataset.ready = "";
    } catch (error) {
      root.classList.remove("explorer");
      fallback.textContent = `The list of queries cannot be shown by this browser: ${error.message}`;
    }
  });
}
