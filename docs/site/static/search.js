// The search of Sphinx knows which words a page has, and ranks by titles. Here pages are ranked by the paragraph, list item or row of a table that says most about
// the words; a result leads to its section and quotes it. conf.py writes `texts` in front, because a browser reads no other pages from a disk:
// [page, title, [[anchor, heading, [passage, ...], rest], ...]] of each page, the rest being what is found but not quoted.

/** Where words are explained, each at the beginning of a row; and pages that use words rather than explain them. */
const GLOSSARY = /^glossary$/;
const LESS_LIKELY = /^(project\/(changelog|contributing|architecture)|reproduce-|lying|validation|json|results|notebooks\/|reference\/)/;
const QUOTED = 240;

const stemmer = new Stemmer();
const stems = new Map();
/** The words of a text without their endings, those within names such as `queue_delay_ms` too. */
const wordsOf = (text) =>
  (text.toLowerCase().match(/[\p{Letter}\p{Number}_]+/gu) ?? [])
    .flatMap((word) => (word.includes("_") ? [word, ...word.split("_")] : word))
    .map((word) => stems.get(word) ?? stems.set(word, stemmer.stemWord(word)).get(word));
const count = (words, among) => words.reduce((sum, word) => sum + (among.has(word) ? 1 : 0), 0);

const pages = texts.map(([name, title, sections]) => {
  const titleWords = wordsOf(`${title} ${name}`);
  return {
    name,
    title,
    titleWords,
    sections: sections.map(([anchor, heading, passages, rest]) => ({
      anchor,
      heading,
      headingWords: heading ? wordsOf(heading) : titleWords,
      words: wordsOf(passages.join(" ")),
      // Output and headers of tables are found, and say little about a word.
      restWords: wordsOf(rest),
      // What a row begins with is its first cell.
      passages: (passages.length ? passages : [rest]).map((text) => ({ text, words: wordsOf(text), first: wordsOf(text.split(" | ")[0]).slice(0, 4) })),
    })),
  };
});
for (const page of pages) {
  page.words = page.sections.flatMap(({ headingWords, words }) => [...headingWords, ...words]);
  page.all = [...page.titleWords, ...page.words, ...page.sections.flatMap(({ restWords }) => restWords)];
}
const vocabulary = new Set(pages.flatMap(({ all }) => all));

/** What a word of a query finds: itself, or the words that it is a part of where it is none; and how rare that is. */
function termOf(word) {
  const found = vocabulary.has(word) ? [word] : [...vocabulary].filter((other) => word.length > 2 && other.includes(word));
  const among = new Set(found);
  const having = pages.filter(({ all }) => count(all, among)).length;
  return { among, rarity: Math.log(1 + pages.length / Math.max(having, 1)) };
}

/** How much words say about a term: often, and in few words. */
const density = (words, { among }, enough) => {
  const times = count(words, among);
  return times / (times + enough);
};

/** The best passage of a page for the terms, and its score. */
function judged(page, terms, phrase) {
  const lead = GLOSSARY.test(page.name) ? 2 : 0.3;
  const about = terms.map((term) => (count(page.titleWords, term.among) ? 1 : 0) + density(page.words, term, 10));
  let best = { score: -1 };
  // The best passage that has one of the words: quoted, where a page or a section was found by its heading.
  let quoted = { score: -1 };
  for (const { anchor, heading, headingWords, words, passages } of page.sections) {
    const aboutSection = terms.map((term, at) => about[at] + (count(headingWords, term.among) ? 1.5 : 0) + density(words, term, 3));
    for (const { text, words, first } of passages) {
      let score = 0;
      for (const [at, term] of terms.entries()) {
        const begins = count(first, term.among) ? lead : 0;
        score += term.rarity * (aboutSection[at] + density(words, term, 0.5 + words.length / 40) + begins);
      }
      if (phrase && `${heading} ${text}`.toLowerCase().includes(phrase)) score *= 1.3;
      if (score > best.score) best = { score, anchor, heading, text };
      if (score > quoted.score && terms.some(({ among }) => count(words, among))) quoted = { score, text };
    }
  }
  return { ...best, text: quoted.text ?? best.text, page, score: best.score * (LESS_LIKELY.test(page.name) ? 0.6 : 1), met: terms.filter(({ among }) => count(page.all, among)).length };
}

let terms = [];
const quotes = new Map();
Search._performSearch = (query, searchTerms) => {
  terms = [...searchTerms].map(termOf);
  const phrase = searchTerms.size > 1 || /[^\p{Letter}\p{Number}]/u.test(query) ? query.trim().toLowerCase() : "";
  const results = pages.map((page) => judged(page, terms, phrase)).filter(({ met }) => met);
  const most = Math.max(...results.map(({ met }) => met));
  return results
    .filter(({ met }) => met === most)
    .sort((one, other) => one.score - other.score)
    .map(({ page, anchor, heading, text, score }) => {
      const at = anchor ? `#${anchor}` : "";
      quotes.set(`${page.name}.html${at}`, text);
      return [page.name, heading ? `${page.title} > ${heading}` : page.title, at, null, score, "", SearchResultKind.text];
    });
};

/** The sentences around the first of the terms, with the terms marked. */
function quote(text) {
  const paragraph = document.createElement("p");
  paragraph.className = "context";
  const pieces = text.split(/([\p{Letter}\p{Number}_]+)/u);
  const isMet = pieces.map((piece, at) => at % 2 === 1 && terms.some(({ among }) => count(wordsOf(piece), among)));
  const before = isMet.includes(true) ? pieces.slice(0, isMet.indexOf(true)).join("").length : 0;
  let [from, at] = [before > QUOTED / 2 && text.length > QUOTED ? Math.min(before - QUOTED / 3, text.length - QUOTED) : 0, 0];
  if (from) paragraph.append("... ");
  for (const [index, piece] of pieces.entries()) {
    if (at >= from + QUOTED) break;
    if (at >= from) {
      const shown = document.createElement(isMet[index] ? "mark" : "span");
      shown.textContent = piece.slice(0, Math.max(from + QUOTED - at, 20));
      paragraph.append(shown);
    }
    at += piece.length;
  }
  if (at < text.length) paragraph.append(" ...");
  return paragraph;
}

const results = document.getElementById("search-results");
new MutationObserver(() => {
  for (const item of results.querySelectorAll("li:not([data-quoted])")) {
    item.dataset.quoted = "";
    const text = quotes.get(item.querySelector("a").getAttribute("href"));
    if (text) item.append(quote(text));
  }
}).observe(results, { childList: true, subtree: true });
