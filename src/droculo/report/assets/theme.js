// Before anything is drawn: the theme that was chosen last, or the system's.
(function () {
  "use strict";
  var chosen = null;
  try { chosen = localStorage.getItem("droculo-theme"); } catch (error) { /* a page from a file may have no storage */ }
  var dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
