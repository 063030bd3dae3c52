// Makes a viewer of every <div class="viewer"> that holds the SVG of a graph: zoom, pan, search, details.
//
// A choice is told to the whole document as `gradc:select` with { source, id }: the op of the source that the
// node comes from, and the node. Whoever dispatches one makes every viewer mark what comes from that source.
"use strict";
(() => {
  const LEAST = 0.1;
  const MOST = 4;
  const READABLE = 0.8; // a large graph is first shown at this scale, from its top
  const SMALL = 0.7; // one that fits at this scale is shown at its whole width
  const NARROW = 600; // pixels: in a pane of less width that is so at this scale, where one may zoom with fingers
  const LEGIBLE = 0.45;
  const STEP = 1.25;
  const OVERVIEW = { width: 120, height: 150 };

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function button(label, text, action) {
    const made = element("button", { type: "button", "aria-label": label, title: label }, text);
    made.addEventListener("click", action);
    return made;
  }

  class Viewer {
    constructor(root) {
      this.root = root;
      this.svg = root.querySelector("svg");
      this.natural = this.svg.viewBox.baseVal;
      this.nodes = [...this.svg.querySelectorAll(".node")];
      this.edges = [...this.svg.querySelectorAll(".edge")];
      this.byId = new Map(this.nodes.map((node) => [node.id, node]));
      this.boxes = new Map(this.nodes.map((node) => [node, this.boxOf(node)]));
      this.scale = 1;
      this.matches = [];
      this.current = -1;
      this.selected = null;
      this.begun = false;
      this.build();
      this.listen();
    }

    build() {
      const label = this.svg.getAttribute("aria-label") ?? "graph";
      this.pane = element("div", {
        class: "viewer-pane", tabindex: "0", role: "region", "aria-label": label, "aria-keyshortcuts": "+ - 0 1 n p /",
      });
      this.details = element("aside", {
        class: "viewer-details", "aria-label": "details", "aria-live": "polite", hidden: "",
      });
      this.overview = element("canvas", { class: "viewer-overview", "aria-hidden": "true" });
      this.percent = element("output", { class: "viewer-scale", "aria-label": "scale" });
      this.mark = element("i", { class: "viewer-mark", hidden: "" });
      this.count = element("output", { class: "viewer-count", "aria-label": "matches" });
      this.box = element("input", { type: "search", placeholder: "Search", "aria-label": "Search the graph" });
      this.next = button("Next match", "Next", () => this.step(1));
      this.next.disabled = true;
      const bar = element(
        "div",
        { class: "viewer-bar", role: "toolbar", "aria-label": `tools for the ${label}` },
        button("Zoom out", "−", () => this.zoom(this.scale / STEP)),
        button("Zoom in", "+", () => this.zoom(this.scale * STEP)),
        button("Fit the whole graph", "Fit", () => this.fit()),
        button("Actual size", "1:1", () => this.zoom(1)),
        this.percent,
        element("div", { class: "viewer-search", role: "search" }, this.box, this.count, this.next),
      );
      this.pane.append(this.svg);
      const body = element("div", { class: "viewer-body" }, this.pane, this.overview, this.details);
      this.root.append(bar, body, this.mark);
    }

    /** The first size is the first view; a pane that is not shown yet has none. */
    resized() {
      if (!this.begun && this.pane.clientWidth) {
        this.begun = true;
        this.begin();
      }
      this.drawOverview();
    }

    /** The first view: the whole width where that can be read, else of the top the part with most nodes. */
    begin() {
      this.resize(this.firstScale());
      this.resize(this.firstScale()); // with the scrollbar that it has by now
      this.root.style.setProperty("--pane-height", `${this.pane.offsetHeight}px`); // whatever the scale is later
      this.pane.scrollTop = 0;
      this.pane.scrollLeft = this.room().width < NARROW ? this.corner() : this.fullest();
    }

    firstScale() {
      const { width } = this.room();
      const fitting = Math.min(1, width / this.natural.width);
      return fitting >= (width < NARROW ? LEGIBLE : SMALL) ? fitting : READABLE;
    }

    /** How far to scroll from the left edge to see the leftmost of the nodes in the upper row. */
    corner() {
      const boxes = [...this.boxes.values()];
      const below = Math.min(...boxes.map((box) => box.y + box.height));
      const row = boxes.filter((box) => box.y < below);
      const first = row.reduce((one, other) => (one.x < other.x ? one : other));
      return (first.x + first.width) * this.scale <= this.pane.clientWidth ? 0 : (first.x - 8) * this.scale;
    }

    /** How far to scroll from the left edge to see, of the upper end, as many whole nodes as there is room for. */
    fullest() {
      const [width, height] = [this.pane.clientWidth / this.scale, this.pane.clientHeight / this.scale];
      const boxes = this.nodes
        .filter((node) => !node.classList.contains("unread"))
        .map((node) => this.boxes.get(node))
        .filter((box) => box.y + box.height <= height && box.width <= width);
      const from = boxes.map((box) => box.x).sort((one, other) => one - other);
      const to = boxes.map((box) => box.x + box.width).sort((one, other) => one - other);
      let [most, left, right, inside] = [0, 0, width, 0];
      from.forEach((start, before) => {
        while (inside < to.length && to[inside] <= start + width) inside += 1;
        if (inside - before > most) [most, left, right] = [inside - before, start, to[inside - 1]];
      });
      return ((left + right - width) / 2) * this.scale;
    }

    room() {
      return { width: Math.max(this.pane.clientWidth, 1), height: Math.max(this.pane.clientHeight, 1) };
    }

    resize(scale) {
      this.scale = Math.min(MOST, Math.max(LEAST, scale));
      this.svg.setAttribute("width", this.natural.width * this.scale);
      this.svg.setAttribute("height", this.natural.height * this.scale);
      this.percent.value = `${Math.round(this.scale * 100)}%`;
    }

    /** Changes the scale around a point of the window, by default the middle of the pane. */
    zoom(scale, at) {
      const frame = this.pane.getBoundingClientRect();
      const point = at ?? { x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 };
      const before = this.svg.getBoundingClientRect();
      const x = (point.x - before.left) / this.scale;
      const y = (point.y - before.top) / this.scale;
      this.resize(scale);
      const after = this.svg.getBoundingClientRect();
      this.pane.scrollLeft += after.left + x * this.scale - point.x;
      this.pane.scrollTop += after.top + y * this.scale - point.y;
      this.drawOverview();
    }

    fit() {
      const { width, height } = this.room();
      this.resize(Math.min(width / this.natural.width, height / this.natural.height, 1));
      this.drawOverview();
    }

    boxOf(node) {
      const box = node.querySelector(".box");
      const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
      return { x, y, width, height };
    }

    middle(node) {
      const { x, y, width, height } = this.boxes.get(node);
      return { x: x + width / 2, y: y + height / 2 };
    }

    show(node) {
      const { x, y } = this.middle(node);
      const offset = this.svg.getBoundingClientRect();
      const frame = this.pane.getBoundingClientRect();
      this.pane.scrollLeft += offset.left + x * this.scale - frame.left - frame.width / 2;
      this.pane.scrollTop += offset.top + y * this.scale - frame.top - frame.height / 2;
    }

    listen() {
      this.pane.addEventListener("scroll", () => requestAnimationFrame(() => this.drawOverview()));
      this.pane.addEventListener("keydown", (event) => this.key(event));
      this.pane.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.svg.addEventListener("click", (event) => this.click(event));
      this.box.addEventListener("input", () => this.search());
      this.box.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.step(event.shiftKey ? -1 : 1);
      });
      this.drag();
      this.pinch();
      this.jump();
      document.addEventListener("gradc:select", (event) => this.told(event.detail));
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawOverview());
      new ResizeObserver(() => this.resized()).observe(this.pane);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const actions = {
        "+": () => this.zoom(this.scale * STEP),
        "=": () => this.zoom(this.scale * STEP),
        "-": () => this.zoom(this.scale / STEP),
        0: () => this.fit(),
        1: () => this.zoom(1),
        n: () => this.neighbour(1),
        p: () => this.neighbour(-1),
        "/": () => this.box.focus(),
        Escape: () => this.select(null),
      };
      const action = actions[event.key];
      if (!action) return; // arrows scroll by themselves
      event.preventDefault();
      action();
    }

    wheel(event) {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(this.scale * Math.exp(-event.deltaY / 300), { x: event.clientX, y: event.clientY });
    }

    /** A mouse drags the graph; a finger scrolls by itself. */
    drag() {
      let from = null;
      this.pane.addEventListener("pointerdown", (event) => {
        this.moved = false;
        if (event.pointerType !== "mouse" || event.button !== 0 || this.onScrollbar(event)) return;
        from = { x: event.clientX, y: event.clientY, left: this.pane.scrollLeft, top: this.pane.scrollTop };
      });
      addEventListener("pointermove", (event) => {
        if (!from) return;
        const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
        if (!this.moved && Math.hypot(dx, dy) < 5) return;
        this.moved = true;
        this.pane.classList.add("dragged");
        this.pane.scrollTo(from.left - dx, from.top - dy);
      });
      const end = () => {
        from = null;
        this.pane.classList.remove("dragged");
      };
      addEventListener("pointerup", end);
      addEventListener("pointercancel", end);
    }

    onScrollbar(event) {
      const frame = this.pane.getBoundingClientRect();
      const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
      return x >= this.pane.clientWidth || y >= this.pane.clientHeight;
    }

    pinch() {
      let start = null;
      const spread = ([one, other]) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      this.pane.addEventListener(
        "touchmove",
        (event) => {
          if (event.touches.length !== 2) return;
          event.preventDefault();
          const [one, other] = event.touches;
          start ??= { spread: spread(event.touches), scale: this.scale };
          const at = { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 };
          this.zoom((start.scale * spread(event.touches)) / start.spread, at);
        },
        { passive: false },
      );
      this.pane.addEventListener("touchend", () => {
        start = null;
      });
    }

    click(event) {
      if (this.moved) return;
      const node = event.target.closest(".node");
      const far = this.byId.get(node?.dataset.of);
      if (far) this.choose(far);
      else this.select(node);
    }

    neighbour(step) {
      const count = this.nodes.length;
      const at = this.selected ? this.nodes.indexOf(this.selected) : step > 0 ? -1 : count;
      this.choose(this.nodes[(at + step + count) % count]);
    }

    /** Selects a node that may be out of view. */
    choose(node) {
      this.show(node);
      this.select(node);
    }

    /** Selects a node, or none, and tells the document. */
    select(node) {
      const detail = { source: node?.dataset.source ?? null, id: node?.id ?? null };
      document.dispatchEvent(new CustomEvent("gradc:select", { detail }));
    }

    told({ source, id }) {
      this.selected = this.byId.get(id) ?? null;
      const kin = source ? this.nodes.filter((node) => node.dataset.source === source) : [];
      const among = new Set(kin);
      for (const node of this.nodes) {
        node.classList.toggle("selected", node === this.selected);
        node.classList.toggle("kin", among.has(node));
        node.classList.remove("feeds");
      }
      for (const edge of this.edges) {
        const near = Boolean(id) && (edge.dataset.from === id || edge.dataset.to === id);
        edge.classList.toggle("near", near);
        if (near) this.byId.get(edge.dataset.from).classList.add("feeds");
      }
      if (!this.selected && kin.length && !kin.some((node) => this.visible(node))) this.show(kin[0]);
      this.describe();
      if (this.selected) this.uncover();
      this.drawOverview();
    }

    /** Details that stick to the end of the window must not hide what they are about. */
    uncover() {
      const [box, cover, frame] = [this.selected, this.details, this.pane].map((part) => part.getBoundingClientRect());
      const beside = cover.left >= frame.right;
      if (beside || box.bottom <= cover.top || !this.visible(this.selected)) return;
      scrollBy(0, box.bottom - cover.top + 12);
    }

    visible(node) {
      const [frame, box] = [this.pane, node].map((part) => part.getBoundingClientRect());
      return box.left < frame.right && box.right > frame.left && box.top < frame.bottom && box.bottom > frame.top;
    }

    describe() {
      const node = this.selected;
      this.details.hidden = !node;
      if (!node) return;
      const [title, ...lines] = node.querySelector("title").textContent.split("\n");
      const close = button("Close the details", "×", () => this.select(null));
      const rows = lines.flatMap((line) => {
        const [, name, value] = /^(from(?= )|.+?(?= = |: ))(?: =|:)? (.*)$/.exec(line) ?? [null, "", line];
        return [element("dt", {}, name), element("dd", {}, value)];
      });
      this.details.replaceChildren(
        element("header", {}, element("h3", {}, title), close),
        element("dl", {}, ...rows),
        ...this.links("Reads", "to", "from"),
        ...this.links("Read by", "from", "to"),
      );
    }

    /** The node of an id; for a reference, what it stands for. */
    real(id) {
      const node = this.byId.get(id);
      return this.byId.get(node.dataset.of) ?? node;
    }

    /** The nodes at the other ends of the edges whose `end` is the selected node. */
    links(heading, end, other) {
      const edges = this.edges.filter((edge) => this.real(edge.dataset[end]) === this.selected);
      if (!edges.length) return [];
      const items = edges.map((edge) => {
        const node = this.real(edge.dataset[other]);
        const { title, source } = node.dataset;
        const text = source ? `${title} of ${source}` : title;
        return element("li", {}, button(`Go to ${title}`, text, () => this.choose(node)));
      });
      return [element("h4", {}, heading), element("ul", {}, ...items)];
    }

    search() {
      const wanted = this.box.value.trim().toLowerCase();
      this.matches = wanted ? this.found(wanted) : [];
      const among = new Set(this.matches);
      for (const node of this.nodes) node.classList.toggle("match", among.has(node));
      this.current = -1;
      this.next.disabled = !this.matches.length;
      this.count.value = wanted ? `${this.matches.length} found` : "";
      if (this.matches.length) this.show(this.matches[0]);
      this.drawOverview();
    }

    /** The nodes that are called so; where none is, those that say so. */
    found(wanted) {
      const says = (text) => text.toLowerCase().includes(wanted);
      const called = this.nodes.filter((node) => says(node.dataset.title));
      return called.length ? called : this.nodes.filter((node) => says(node.textContent));
    }

    step(by) {
      const count = this.matches.length;
      if (!count) return;
      this.current = this.current < 0 && by < 0 ? count - 1 : (this.current + by + count) % count;
      this.count.value = `${this.current + 1} of ${count}`;
      this.choose(this.matches[this.current]);
    }

    /** The whole graph in small, with a frame around what is in view; for graphs that need much scrolling. */
    drawOverview() {
      const { width, height } = this.natural;
      const { clientWidth, clientHeight, scrollLeft, scrollTop } = this.pane;
      const needed = (width * height * this.scale ** 2) / (clientWidth * clientHeight || 1) > 4;
      this.overview.hidden = !needed;
      this.overview.style.display = needed ? "" : "none";
      if (!needed) return;
      const small = Math.min(OVERVIEW.width / width, OVERVIEW.height / height);
      const [columns, rows] = [width * small, height * small].map((size) => Math.max(8, Math.round(size)));
      Object.assign(this.overview, { width: columns, height: rows });
      const context = this.overview.getContext("2d");
      const style = getComputedStyle(this.root);
      const marked = this.nodes.filter((node) => /\b(selected|kin|match)\b/.test(node.getAttribute("class")));
      const dab = (node) => {
        const box = this.boxes.get(node);
        const [x, y] = [box.x * small, box.y * small];
        context.fillRect(x, y, Math.max(1, box.width * small), Math.max(1, box.height * small));
      };
      context.fillStyle = style.color;
      context.globalAlpha = 0.35;
      this.nodes.forEach(dab);
      context.globalAlpha = 1;
      if (marked.length) context.fillStyle = getComputedStyle(this.mark).color;
      marked.forEach(dab);
      context.strokeStyle = style.color;
      const part = small / this.scale;
      context.strokeRect(scrollLeft * part, scrollTop * part, clientWidth * part, clientHeight * part);
    }

    /** A press on the overview goes there. */
    jump() {
      const go = (event) => {
        if (!event.buttons) return;
        const frame = this.overview.getBoundingClientRect();
        const x = ((event.clientX - frame.left) / frame.width) * this.pane.scrollWidth;
        const y = ((event.clientY - frame.top) / frame.height) * this.pane.scrollHeight;
        this.pane.scrollTo(x - this.pane.clientWidth / 2, y - this.pane.clientHeight / 2);
      };
      this.overview.addEventListener("pointerdown", go);
      this.overview.addEventListener("pointermove", go);
    }
  }

  for (const root of document.querySelectorAll("div.viewer")) {
    if (root.querySelector("svg")) new Viewer(root);
  }
})();
