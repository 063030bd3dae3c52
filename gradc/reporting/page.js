"use strict";

// Light or dark: as the system says, until the reader chooses.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try { return localStorage.getItem("gradc-theme"); } catch { return null; }
  };
  const keep = (theme) => {
    try { localStorage.setItem("gradc-theme", theme); } catch { /* a frame without storage */ }
  };
  const show = (theme) => {
    const dark = theme ? theme === "dark" : system.matches;
    if (theme) root.dataset.theme = theme;
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(dark));
    button.setAttribute("aria-label", `Show the page in ${dark ? "light" : "dark"} colours`);
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = button.getAttribute("aria-pressed") === "true" ? "light" : "dark";
    keep(next);
    show(next);
  });
  system.addEventListener("change", () => show(root.dataset.theme));
  show(stored());
})();

// The section that is being read is marked in the contents.
(() => {
  const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.hash.slice(1), a]));
  const seen = new Set();
  const mark = () => {
    const current = [...links.keys()].find((id) => seen.has(id));
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(target.id);
      else seen.delete(target.id);
    }
    mark();
  }, { rootMargin: "-25% 0px -60% 0px" });
  for (const id of links.keys()) watcher.observe(document.getElementById(id));
})();

// An op of the source and the nodes that it became are marked together, in both graphs.
(() => {
  const status = document.getElementById("selection");
  if (!status) return;
  const initial = status.textContent;
  const nodes = [...document.querySelectorAll(".graph g.node")];
  const sources = (node) => (node.dataset.source || "").split("\n").filter(Boolean);
  const side = (node) => node.closest(".graph").dataset.side;
  const related = (names) => nodes.filter((node) => sources(node).some((name) => names.includes(name)));

  const choose = (names) => {
    const found = names.length ? related(names) : [];
    for (const node of nodes) node.classList.toggle("linked", found.includes(node));
    for (const graph of document.querySelectorAll(".graph")) graph.classList.toggle("linking", found.length > 0);
    const count = found.filter((node) => side(node) === "after").length;
    status.textContent = names.length
      ? `${names.join(", ")}: ${count} node${count === 1 ? "" : "s"} of the model`
      : initial;
  };
  for (const graph of document.querySelectorAll(".graph")) {
    graph.addEventListener("click", (event) => {
      const node = event.target.closest("g.node");
      if (node) choose(sources(node));
    });
    graph.addEventListener("keydown", (event) => {
      const node = event.target.closest("g.node");
      if (node && (event.key === "Enter" || event.key === " ")) choose(sources(node));
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") choose([]);
  });
  for (const button of document.querySelectorAll(".op:not(:disabled)")) {
    button.title = "Show in the graph";
    button.addEventListener("click", () => {
      choose([button.dataset.op]);
      document.getElementById("graph").scrollIntoView();
    });
  }
})();

// All passes that changed something, opened or closed together.
(() => {
  const button = document.getElementById("unfold");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    for (const pass of document.querySelectorAll(".passes > li > details")) pass.open = open;
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? "Close all" : "Open all";
  });
})();
