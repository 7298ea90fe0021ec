(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Elements are made, never written as HTML: a name is text whatever it holds.
  const element = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  // --- light and dark ---
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { byId("theme").textContent = isDark() ? "Light" : "Dark"; };
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  // --- a link into what is folded unfolds it: browsers do not all do so ---
  const unfold = () => {
    let part = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    for (; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  };
  addEventListener("hashchange", unfold);
  addEventListener("click", (event) => {
    // A second click on the same link changes no address.
    if (event.target.closest("a[href^='#']")) setTimeout(unfold);
  });
  unfold();

  // --- paper: what is folded is unfolded ---
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of folded) part.open = false; });

  // --- tables that sort ---
  const sortKey = (row, column, kind) => {
    const text = row.cells[column].textContent.trim();
    if (kind !== "number") return text.toLowerCase();
    const value = parseFloat(text.replaceAll(",", "").replace("−", "-").replace(/[≤<]/, ""));
    return Number.isNaN(value) ? -Infinity : value;
  };
  const sortBy = (button) => {
    const heading = button.closest("th");
    const table = heading.closest("table");
    const kind = button.dataset.key;
    const was = heading.getAttribute("aria-sort");
    // Numbers start with the largest, names with the first.
    const first = kind === "number" ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const now = was === first ? other : first;
    for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", now);
    const sign = now === "ascending" ? 1 : -1;
    const keyed = [...table.tBodies[0].rows].map((row) => [sortKey(row, heading.cellIndex, kind), row]);
    keyed.sort((a, b) => (a[0] < b[0] ? -sign : a[0] > b[0] ? sign : 0));
    table.tBodies[0].append(...keyed.map((pair) => pair[1]));
  };
  for (const button of document.querySelectorAll("th button[data-key]")) {
    button.addEventListener("click", () => sortBy(button));
  }
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const rows = [...byId(input.dataset.filter).tBodies[0].rows];
    const status = input.closest(".filter").querySelector("[role=status]");
    input.addEventListener("input", () => {
      const sought = input.value.trim().toLowerCase();
      let n = 0;
      for (const row of rows) {
        row.hidden = !row.cells[0].textContent.toLowerCase().includes(sought);
        n += row.hidden ? 0 : 1;
      }
      status.textContent = sought ? `${n} of ${rows.length}` : "";
    });
  }

  // --- charts ---
  const draw = async (box, spec, datasets) => {
    // In an element of its own: the library describes it, and the page describes what is around it.
    const inner = element("div");
    box.replaceChildren(inner);
    const whole = { ...spec, datasets: { ...(spec.datasets ?? {}), ...datasets } };
    const options = { renderer: "svg", actions: false, ast: true, mode: "vega-lite" };
    return (await vegaEmbed(inner, whole, options)).view;
  };
  const four = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));
  const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
  const whole = (n) => n.toLocaleString("en");
  // Columns as rows with the words that a tooltip shows.
  const binRows = (t) => t.n.map((n, i) => ({
    a: t.a[i], b: t.b[i], n, u: t.u[i], z: t.z[i], s: t.s[i], lo: t.lo[i], hi: t.hi[i],
    "predictions": `${four(t.a[i])} to ${four(t.b[i])}`, "rows": `${whole(n)} (${percent(t.s[i])})`,
    "mean prediction": four(t.u[i]), "mean target": four(t.z[i]), "gap": four(t.g[i]),
    "interval": n ? `${four(t.lo[i])} to ${four(t.hi[i])}` : "–",
  }));
  const seriesRows = (series) => series.flatMap((part) =>
    binRows(part).map((row) => ({ ...row, name: part.name, ...part.look })));
  const lineRows = (series) => series.flatMap((part) =>
    part.line.u.map((u, i) => ({ i, u, z: part.line.z[i], name: part.name, ...part.look })));

  // --- numbers of charts, for files ---
  const BINS = ["lower", "upper", "n", "mean_predicted", "mean_target", "gap", "low", "high"];
  const binCells = (t) => t.n.map((n, i) => [t.a[i], t.b[i], n, t.u[i], t.z[i], t.g[i], t.lo[i], t.hi[i]]);
  const seriesCells = (series) => [["predictor", ...BINS],
    ...series.flatMap((part) => binCells(part).map((cells) => [part.name, ...cells]))];
  const spanCells = (rows, head) => [["predictor", head, "low", "high"],
    ...rows.map((row) => [row.name, row.value, row.lo, row.hi])];
  for (const table of document.querySelectorAll(".table-box table")) downloads.ofTable(table);

  // Reliability curves of several predictors, of which the reader chooses some.
  const overlaid = async (id, series, what) => {
    const shown = new Set(series.filter((part) => part.first));
    const drawn = () => series.filter((part) => shown.has(part));
    const view = await draw(byId(id), data.specs.overlay, { bins: seriesRows(drawn()), lines: lineRows(drawn()) });
    for (const input of document.querySelectorAll("input[name=series]")) {
      input.addEventListener("change", () => {
        const part = series[Number(input.value)];
        if (input.checked) shown.add(part); else shown.delete(part);
        view.data("bins", seriesRows(drawn())).data("lines", lineRows(drawn())).runAsync();
      });
    }
    downloads.ofChart(byId(id), [view], { what, rows: () => seriesCells(drawn()), legend: drawn });
  };

  const startReport = async () => {
    const state = { view: 0, rule: data.start.rule, at: Math.max(0, data.counts.indexOf(data.start.m)) };
    const table = () => state.rule === "given"
      ? data.given.table : data.views[state.view].tables[state.rule][state.at];
    const shownNow = () => state.rule === "given"
      ? Object.entries(data.given.shown)
      : Object.entries(data.views[state.view].shown[state.rule]).map(([name, v]) => [name, v[state.at]]);
    const curveRows = () => {
      const curve = data.views[state.view].curves[byId("curve").value];
      if (!curve) return [];
      return curve.u.map((u, i) => ({ u, z: curve.z[i], lo: curve.lo?.[i], hi: curve.hi?.[i] }));
    };
    const bandRows = () => {
      const { band } = data.views[state.view];
      return band && byId("show-band").checked ? band.u.map((u, i) => ({ u, lo: band.lo[i], hi: band.hi[i] })) : [];
    };
    const cutoffRows = () => {
      const found = data.views[state.view].cutoffs;
      return found && byId("show-cutoffs").checked ? [found] : [];
    };
    const rowsNow = () => {
      const rows = binRows(table());
      return byId("show-limits").checked ? rows : rows.map((row) => ({ ...row, lo: row.z, hi: row.z }));
    };
    const [diagram, counts] = await Promise.all([
      draw(byId("diagram"), data.specs.diagram, { bins: rowsNow(), band: bandRows(), curve: curveRows(), cutoffs: cutoffRows() }),
      draw(byId("counts"), data.specs.counts, { bins: rowsNow() }),
    ]);
    downloads.ofChart(byId("counts"), [diagram, counts],
      { what: "reliability diagram", rows: () => [BINS, ...binCells(table())] });
    const strips = await Promise.all(data.strip.map((part) => {
      const figure = element("figure");
      const caption = element("figcaption", part.name);
      const box = element("div", undefined, { class: "chart", role: "img", "aria-label": `${part.title} by number of bins` });
      figure.append(caption, box);
      byId("strip").append(figure);
      return draw(box, data.specs.strip, { values: part.values, here: [{ m: data.counts[state.at] }] }).then((view) => {
        downloads.ofChart(box, [view], {
          what: `${part.name} by number of bins`,
          rows: () => [["bins", "rule", part.name], ...part.values.map((v) => [v.m, v.rule, v.value])],
          legend: () => [["equal width", "--one"], ["equal mass", "--two"]]
            .map(([name, colour]) => ({ name, look: { colour: `var(${colour})` } })),
        });
        return view;
      });
    }));

    const words = { "equal-width": "equal-width", quantile: "equal-mass", given: "bins as evaluated" };
    const fillTable = (t) => {
      const body = byId("bin-table").tBodies[0];
      body.replaceChildren(...binRows(t).map((row, i) => {
        const line = element("tr");
        for (const text of [four(row.a), four(row.b), whole(t.n[i]), row["mean prediction"],
          row["mean target"], row.interval, row.gap]) {
          line.append(element("td", text, { class: "number" }));
        }
        return line;
      }));
    };
    const show = () => {
      const m = data.counts[state.at];
      const given = state.rule === "given";
      byId("count").disabled = given;
      byId("count-shown").textContent = given ? table().n.length : m;
      byId("count").setAttribute("aria-valuetext", `${m} bins`);
      byId("now").textContent = given ? "The bins of the evaluation"
        : `${m} ${words[state.rule]} bin${m === 1 ? "" : "s"}`;
      byId("values").replaceChildren(...shownNow().map(([name, value]) => {
        const pair = element("div");
        pair.append(element("dt", name), element("dd", value, { "data-measure": name }));
        return pair;
      }));
      const view = data.views[state.view];
      const chosen = byId("curve");
      byId("sigma").textContent = view.curves[chosen.value]?.words ?? "";
      byId("curve-key").hidden = !chosen.value;
      byId("curve-name").textContent = chosen.options[chosen.selectedIndex].textContent;
      const cutoffs = cutoffRows();
      byId("cutoffs-words").textContent = cutoffs.length ? cutoffs[0].words : "";
      byId("cutoffs-key").hidden = !cutoffs.length;
      byId("cutoffs-choice").hidden = !view.cutoffs;
      byId("band-choice").hidden = !view.band;
      byId("band-key").hidden = !view.band || !byId("show-band").checked;
      fillTable(table());
      const bins = rowsNow();
      diagram.data("bins", bins).data("band", bandRows()).data("curve", curveRows()).data("cutoffs", cutoffs).runAsync();
      counts.data("bins", bins).runAsync();
      const nonempty = bins.filter((row) => row.u !== null);
      byId("diagram").setAttribute("aria-label",
        `Reliability diagram, ${byId("now").textContent.toLowerCase()}: ${nonempty.length} hold rows; `
        + "their means are in the table below.");
      for (const strip of strips) strip.data("here", given ? [] : [{ m }]).runAsync();
    };

    const slider = byId("count");
    slider.max = data.counts.length - 1;
    slider.value = state.at;
    slider.addEventListener("input", () => { state.at = Number(slider.value); show(); });
    byId("given-rule").hidden = !data.given;
    for (const input of document.querySelectorAll("input[name=rule]")) {
      input.checked = input.value === state.rule;
      input.addEventListener("change", () => { state.rule = input.value; show(); });
    }
    for (const input of document.querySelectorAll("input[name=view]")) {
      input.addEventListener("change", () => { state.view = Number(input.value); show(); });
    }
    byId("curve").addEventListener("change", show);
    byId("show-limits").addEventListener("change", show);
    byId("show-band").addEventListener("change", show);
    byId("show-cutoffs").addEventListener("change", show);
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    show();
    stripTable();
    if (data.changes) await overlaid("change", data.changes, "recalibration curves");
    await Promise.all(data.more.map(async (part) => {
      const box = byId(part.id);
      const view = await draw(box, part.spec, part.data);
      const rows = Object.values(part.data)[0];
      const columns = Object.entries(part.columns ?? Object.fromEntries(Object.keys(rows[0] ?? {}).map((key) => [key, key])));
      downloads.ofChart(box, [view], {
        what: part.what ?? box.getAttribute("aria-label").split(";")[0],
        rows: () => [columns.map((pair) => pair[1]), ...rows.map((row) => columns.map(([key]) => row[key]))],
      });
    }));
  };

  // Every measure by number of bins: a row per number.
  const stripTable = () => {
    const columns = data.strip.flatMap((part) => [...new Set(part.values.map((v) => v.rule))].map((rule) =>
      ({ head: `${part.name}, ${rule}`, cells: new Map(part.values.filter((v) => v.rule === rule).map((v) => [v.m, v.shown])) })));
    const head = element("tr");
    for (const text of ["bins", ...columns.map((c) => c.head)]) head.append(element("th", text, { scope: "col", class: "number" }));
    byId("strip-table").tHead.replaceChildren(head);
    byId("strip-table").tBodies[0].replaceChildren(...data.counts.map((m) => {
      const line = element("tr");
      for (const text of [m, ...columns.map((c) => c.cells.get(m) ?? "")]) line.append(element("td", text, { class: "number" }));
      return line;
    }));
  };

  const startComparison = async () => {
    const chooser = byId("measure");
    const fitHeight = (id, rows) => { byId(id).style.height = `${56 + 30 * Math.max(2, rows.length)}px`; };
    const now = () => data.measures[chooser.value];
    const looked = (rows) => rows.map((row, place) => ({ ...data.looks[row.name], ...row, place,
      ...(row.clear === false ? { colour: "var(--muted)" } : {}) }));
    fitHeight("ranks", now().ranks);
    fitHeight("differences", now().differences);
    const ranks = await draw(byId("ranks"), data.specs.ranks, { rows: looked(now().ranks) });
    const differences = await draw(byId("differences"), data.specs.differences, { rows: looked(now().differences) });
    downloads.ofChart(byId("ranks"), [ranks],
      { what: "ranks", rows: () => spanCells(now().ranks, `rank by ${now().name}`) });
    downloads.ofChart(byId("differences"), [differences],
      { what: "differences", rows: () => spanCells(now().differences, `${now().name} minus that of the best`) });
    if (byId("curves")) await overlaid("curves", data.curves, "reliability curves");
    if (byId("risks")) {
      const risks = await draw(byId("risks"), data.specs.risks, { points: data.risks });
      const columns = ["name", "c", "from prediction", "r", "interval"];
      downloads.ofChart(byId("risks"), [risks], { what: "risk by coverage",
        legend: () => Object.entries(data.looks).map(([name, look]) => ({ name, look: { ...look, shape: undefined } })),
        rows: () => [["predictor", "coverage", "from_prediction", "risk", "interval"],
          ...data.risks.map((row) => columns.map((key) => row[key]))] });
    }
    const fill = (id, rows) => byId(id).tBodies[0].replaceChildren(...rows.map((cells) => {
      const line = element("tr");
      cells.forEach((text, i) => line.append(i === 0 ? element("th", text, { scope: "row" })
        : element("td", text, { class: "number" })));
      return line;
    }));
    // The table of all values follows the measure that was chosen, from the best to the worst.
    const sortValues = (chosen) => {
      const table = byId("value-table");
      const place = new Map(chosen.ranks.map((row, i) => [row.name, i]));
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => place.get(a.cells[0].textContent) - place.get(b.cells[0].textContent));
      table.tBodies[0].append(...rows);
      for (const head of table.tHead.rows[0].cells) head.setAttribute("aria-sort", "none");
      // The first two columns are the name and the verdict.
      table.tHead.rows[0].cells[2 + Number(chooser.value)]
        .setAttribute("aria-sort", chosen.sorted);
    };
    const show = () => {
      const chosen = now();
      ranks.data("rows", looked(chosen.ranks)).runAsync();
      differences.data("rows", looked(chosen.differences)).runAsync();
      sortValues(chosen);
      fill("rank-table", chosen.rank_table);
      fill("difference-table", chosen.difference_table);
      byId("sentence").textContent = chosen.sentence;
      for (const part of document.querySelectorAll(".measure-name")) part.textContent = chosen.called;
    };
    chooser.addEventListener("change", show);
    show();
  };

  // --- windows of time ---
  const startWindows = async () => {
    await draw(byId("over-time"), data.specs.windows, { rows: data.rows });
    if (data.change) await draw(byId("change"), data.specs.change, { rows: data.rows });
    if (data.evidence) await draw(byId("evidence"), data.specs.evidence, { rows: data.rows });
  };

  // --- labels that are sets ---
  const startBounds = async () => {
    const view = await draw(byId("diagram"), data.specs.diagram, { bins: binRows(data.bins), band: [], curve: [], cutoffs: [] });
    downloads.ofChart(byId("diagram"), [view], { what: "reliability diagram", rows: () => [BINS, ...binCells(data.bins)] });
  };

  // --- several answers to a question ---
  const startSampled = async () => {
    for (const [i, line] of data.lines.entries()) {
      const box = byId(`line-${i}`), bins = binRows(line);
      const view = await draw(box, data.specs.diagram, { bins, band: [], curve: [], cutoffs: [] });
      downloads.ofChart(box, [view], { what: "reliability diagram", rows: () => [BINS, ...binCells(line)] });
    }
  };

  const starts = { report: startReport, comparison: startComparison, windows: startWindows, bounds: startBounds, sampled: startSampled };
  const started = starts[data.kind]();
  started.then(() => { root.dataset.ready = "yes"; });
})();
