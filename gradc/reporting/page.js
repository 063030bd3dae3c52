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

// The section that is being read is marked in the contents: the last one that begins above a line near the top.
(() => {
  const LINE = 120; // pixels below the top of the window, under the contents
  const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.hash.slice(1), a]));
  const sections = [...links.keys()].map((id) => document.getElementById(id));
  const root = document.documentElement;
  const below = (section) => section.getBoundingClientRect().top > LINE;
  /** At the end of the page some sections cannot reach the line: there it is the one that was asked for, or the last. */
  const current = () => {
    const asked = sections.find((section) => `#${section.id}` === location.hash);
    const ended = scrollY > 0 && scrollY + innerHeight >= root.scrollHeight - 2;
    if (ended) return asked && below(asked) ? asked : sections.at(-1);
    return sections.findLast((section) => !below(section)) ?? sections[0];
  };
  const mark = () => {
    const { id } = current();
    for (const [name, link] of links) {
      if (name === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  for (const event of ["scroll", "hashchange"]) addEventListener(event, () => requestAnimationFrame(mark));
  new ResizeObserver(mark).observe(root);
  addEventListener("resize", mark);
})();

// Tables that are wider than the page say so (page.css), until their end is in sight.
(() => {
  for (const box of document.querySelectorAll(".scroll")) {
    const look = () => {
      box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
      box.classList.toggle("ended", box.scrollLeft + box.clientWidth >= box.scrollWidth - 2);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
  }
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
