// What the search page shows first: the guide, then the pages that help to choose, then models and notebooks.
var Scorer = {
  score: function (result) {
    var page = result[0], score = result[4];
    if (page === "guide") return score + 30;
    if (page === "which-model" || page === "schema") return score + 10;
    if (/^[0-9]|^_generated\/(zoo|notebooks)$/.test(page)) return score + 5;
    if (/^(answers|benchmarks|printed-numbers)$/.test(page)) return score - 5;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
