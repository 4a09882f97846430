// Results of a search in pages that were opened from a disk: each with the first sentences of its page. From a server the search quotes the place itself.
const results = document.getElementById("search-results");
if (results && location.protocol === "file:") {
  new MutationObserver(() => {
    for (const item of results.querySelectorAll("li:not([data-about])")) {
      item.dataset.about = "";
      const name = item.querySelector("a")?.getAttribute("href").split(/[?#]/)[0].replace(/\.html$/, "");
      if (abouts[name] && !item.querySelector("p")) {
        const about = document.createElement("p");
        about.className = "context";
        about.textContent = abouts[name];
        item.append(about);
      }
    }
  }).observe(results, { childList: true, subtree: true });
}
