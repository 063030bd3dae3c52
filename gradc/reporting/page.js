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
  const panels = [...document.querySelectorAll(".panel")];
  const nodes = panels.flatMap((panel) => [...panel.querySelectorAll("g.node")]);
  const side = (node) => node.closest(".panel").dataset.side;

  const choose = (source) => {
    const found = source ? nodes.filter((node) => node.dataset.source === source) : [];
    for (const node of nodes) node.classList.toggle("linked", found.includes(node));
    for (const panel of panels) panel.classList.toggle("linking", found.length > 0);
    const count = found.filter((node) => side(node) === "after").length;
    status.textContent = source ? `${source}: ${count} node${count === 1 ? "" : "s"} of the model` : initial;
  };
  for (const panel of panels) {
    panel.addEventListener("click", (event) => {
      const node = event.target.closest("g.node");
      if (node) choose(node.dataset.source);
    });
    panel.addEventListener("keydown", (event) => {
      const node = event.target.closest("g.node");
      if (node && (event.key === "Enter" || event.key === " ")) choose(node.dataset.source);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") choose("");
  });
  for (const button of document.querySelectorAll(".op:not(:disabled)")) {
    button.title = "Show in the graph";
    button.addEventListener("click", () => {
      choose(button.dataset.op);
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
