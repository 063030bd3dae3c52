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
    // the overviews are drawn anew in the new colours
    for (const pane of document.querySelectorAll(".viewer-pane")) pane.dispatchEvent(new Event("scroll"));
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

// What is chosen in one graph is marked in both (viewer.js), and told; strategies lead to their ops.
(() => {
  const status = document.getElementById("selection");
  if (!status) return;
  const initial = status.textContent;
  const made = [...document.querySelectorAll('.panel[data-side="after"] g.node')];

  document.addEventListener("gradc:select", ({ detail: { source } }) => {
    const count = made.filter((node) => node.dataset.source === source).length;
    status.textContent = source ? `${source}: ${count} node${count === 1 ? "" : "s"} of the model` : initial;
  });
  for (const button of document.querySelectorAll(".op:not(:disabled)")) {
    button.title = "Show in the graph";
    button.addEventListener("click", () => {
      const detail = { source: button.dataset.op, id: null };
      document.dispatchEvent(new CustomEvent("gradc:select", { detail }));
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
