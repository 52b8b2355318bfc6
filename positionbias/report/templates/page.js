"use strict";
// The contents fold on a narrow screen; on paper everything is open; the section being read is marked.
{
  const contents = document.querySelector("nav details");
  const wide = matchMedia("(min-width: 1100px)");
  const fit = () => { contents.open = wide.matches; };
  fit();
  wide.addEventListener("change", fit);
  contents.addEventListener("click", event => {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
  });

  // A link into a folded part opens it.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const inside = target && target.querySelector(":scope > details");
    if (inside) inside.open = true;
    for (let part = target && target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  const links = new Map([...contents.querySelectorAll("a")].map(link => [link.hash.slice(1), link]));
  const seen = new Set();
  const reading = new IntersectionObserver(changes => {
    for (const { target, isIntersecting } of changes) seen[isIntersecting ? "add" : "delete"](target.id);
    const now = [...links.keys()].find(id => seen.has(id));
    for (const [id, link] of links) {
      if (id === now) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-10% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section")) reading.observe(section);
}
