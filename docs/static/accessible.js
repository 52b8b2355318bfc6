// What the theme leaves out: levels of the contents' headings, names of the sidebars, and scrolling by keyboard.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("p.caption[role=heading]").forEach((heading) => heading.setAttribute("aria-level", "2"));
  document.querySelectorAll("aside.sidebar-drawer").forEach((aside) => aside.setAttribute("aria-label", "All pages"));
  document.querySelectorAll("aside.toc-drawer").forEach((aside) => aside.setAttribute("aria-label", "This page"));
  document.querySelectorAll("pre, .table-wrapper, .output").forEach((box) => box.setAttribute("tabindex", "0"));
});
