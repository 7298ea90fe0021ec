/* The page around `calibrant` in measure.js: files dropped, chosen or pasted; results written and drawn. */

(() => {
  /** @type {(id: string) => any} */
  const byId = (id) => document.getElementById(id);
  /** @type {Config} */
  const config = JSON.parse(byId("config").textContent);
  const { measure } = calibrant(config), root = document.documentElement;
  /** @type {{name: string, bytes: Uint8Array} | null} */
  let given = null;
  /** @type {Measured | null} */
  let made = null;

  /** An element, never written as HTML: a name is text whatever it holds.
   * @type {(tag: string, text?: string | number, attributes?: Record<string, string>) => HTMLElement} */
  const element = (tag, text, attributes = {}) => {
    const out = document.createElement(tag);
    if (text !== undefined) out.textContent = String(text);
    for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
    return out;
  };
  const shown = (/** @type {number} */ x) => (!Number.isFinite(x) ? "–"
    : x !== 0 && Math.abs(x) < 0.001 ? x.toPrecision(3) : x.toFixed(4));
  const whole = (/** @type {number} */ n) => n.toLocaleString("en");

  // --- light and dark ---
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { byId("theme").textContent = isDark() ? "Light" : "Dark"; if (made) draw(made); };
  byId("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  dark.addEventListener("change", nameTheme);

  // --- results in words ---
  /** The reasons without the numbers that tiles have. @param {Measured} m */
  const reasonsOf = ({ k, measures, slope, verdict }) => {
    const of = k > 1 ? "Confidences" : "Predictions", { value, error } = slope;
    const means = value + config.slopeZ * error < 0 ? "ranked in reverse: the slope is below 0" : value < 0 ? "not ranked better than by chance: the interval of the slope contains 0"
      : value < 1 ? "too extreme: the slope is below 1" : "not extreme enough: the slope is above 1";
    return verdict.reasons.map((name) => /** @type {Record<string, string>} */ ({ slope: `${of} are ${means}.`,
      "noise floor": "The error is larger than chance explains.",
      mean: `${of} are too ${measures.mean_predicted > measures.mean_target ? "high" : "low"} on average.` })[name]);
  };
  /** The colour of the error and its noise beside the tolerance, and a sentence. @param {Measured} m */
  const toneOf = ({ verdict, measures: { ece }, floor }) => {
    const over = `the tolerance of ${config.tolerance}.`, known = verdict.word !== "not enough data";
    if (known && ece + floor.upper <= config.tolerance) return ["good", `The error is within ${over}`];
    return known && ece - floor.upper > config.tolerance ? ["bad", `The error exceeds ${over}`]
      : ["unsure", `There is not enough data to say whether the error exceeds ${over}`];
  };
  /** @param {Measured} m */
  const showVerdict = (m) => {
    const { floor, measures, slope } = m, ece = m.soft ? "SMECE" : "ECE", { word } = m.verdict, [tone, tolerance] = toneOf(m), rare = word === "miscalibrated" || measures.ece <= floor.upper, chance = rare ? `below ${floor.upper.toFixed(3)} in 95%` : `above that in ${Number((100 * floor.p).toPrecision(2))}%`;
    byId("verdict").className = `verdict ${tone}`;
    byId("of-file").textContent = m.file;
    byId("verdict-word").textContent = word[0].toUpperCase() + word.slice(1);
    byId("sentence").textContent = [...reasonsOf(m), tolerance].join(" ");
    const limits = Number.isFinite(slope.low) ? `95% CI ${slope.low.toFixed(2)} to ${slope.high.toFixed(2)}` : "", facts = [["rows", whole(m.n)], [m.soft ? "mean label" : m.k > 1 ? "accuracy" : "prevalence", measures.mean_target.toFixed(3)],
      [m.k > 1 ? "mean confidence" : "mean prediction", measures.mean_predicted.toFixed(3)], [ece, measures.ece.toFixed(3), `if calibrated: ${chance} of samples`],
      ...(slope.why ? [] : [["slope", slope.value.toFixed(2), limits]])];
    byId("facts").replaceChildren(...facts.map(([name, value, small]) => {
      const box = element("div"), number = element("dd", value);
      if (small) number.append(element("small", small));
      box.append(element("dt", name), number);
      return box;
    }));
    byId("rule").textContent = `This quick verdict tests the calibration slope, the mean prediction and the noise floor of the ${ece} `
      + `(${floor.draws} draws, p = ${floor.p.toPrecision(2)}). If no test rejects, predictions are calibrated within noise if the `
      + `sum of the ${ece} and its noise is at most the tolerance of ${config.tolerance}. The Python function verdict also tests the `
      + `curve of the gaps, and its interval is shorter. It may decide where this page says that there is not enough data.`;
    byId("notes").replaceChildren(...m.notes.map((note) => element("li", note)));
  };
  /** @param {Measured} m */
  const showMeasures = (m) => {
    const { floor, measures, slope } = m, of = m.k > 1 ? "the top label" : "P(y = 1)", ece = m.soft ? "SMECE" : "ECE";
    /** @type {[string, number, string][]} */
    const rows = [
      [ece, measures.ece, `Mean gap of ${of} in ${config.bins} bins of equal width. Its mean for calibrated predictions is ${shown(floor.mean)}.`],
      ["ATB", measures.atb, "Averaged two-bin error: the mean squared error below and above each cutoff. It is truthful and needs no choice of bins."],
      ["Brier score", measures.brier, "Mean squared error of the probabilities."],
      ["Log loss", measures.log_loss, `Predictions below ${config.logFloor} are clipped to it.`],
      ["Calibration slope", slope.value, slope.why ? `Not estimable: ${slope.why}.` : "1 if calibrated; below 1, predictions are too extreme; below 0, ranked in reverse."],
      ["AUROC", measures.auroc, `How well ${m.k > 1 ? "confidences" : "predictions"} rank, not how well they are calibrated.`]];
    byId("measure-table").tBodies[0].replaceChildren(...rows.map(([name, value, says]) => {
      const row = element("tr");
      row.append(element("th", name, { scope: "row" }),
        element("td", shown(value), { class: "number", "data-label": "Value", title: String(value) }), element("td", says, { class: "prose" }));
      return row;
    }));
  };
  /** @param {Measured} m */
  const showBins = (m) => {
    const names = /** @type {const} */ (["lower", "upper", "n", "mean_predicted", "mean_target", "gap", "low", "high"]);
    const heads = ["From", "To", "Rows", "Mean prediction", m.soft ? "Mean label" : "Observed", "Gap", "95% low", "95% high"];
    const top = element("tr");
    top.append(...heads.map((name) => element("th", name, { scope: "col", class: "number" })));
    byId("bin-table").tHead.replaceChildren(top);
    byId("bin-table").tBodies[0].replaceChildren(...m.bins.map((bin) => {
      const row = element("tr");
      row.append(...names.map((name) => element("td", name === "n" ? whole(bin.n) : shown(bin[name]))));
      return row;
    }));
  };

  // --- the diagram: colours are written into it, so that it is a picture of its own ---
  /** @param {Measured} m */
  const draw = (m) => {
    const space = "http://www.w3.org/2000/svg", [left, top, size, strip] = [64, 16, 440, 64];
    const colour = (/** @type {string} */ name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
    const svg = document.createElementNS(space, "svg");
    /** @type {(tag: string, at: Record<string, string | number>, text?: string) => Element} */
    const add = (tag, at, text) => {
      const out = document.createElementNS(space, tag);
      for (const [name, value] of Object.entries(at)) out.setAttribute(name, String(value));
      if (text) out.textContent = text;
      svg.append(out);
      return out;
    };
    const x = (/** @type {number} */ v) => left + v * size, y = (/** @type {number} */ v) => top + (1 - v) * size;
    const [ink, muted, line, one] = ["ink", "muted", "line", "one"].map(colour), base = top + size + 30 + strip;
    svg.setAttribute("viewBox", `0 0 520 ${base + 42}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Reliability diagram of ${m.file}; its numbers are in the table of bins`);
    svg.setAttribute("font-family", "system-ui, sans-serif");
    svg.setAttribute("font-size", "13");
    for (const t of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      add("path", { d: `M${x(t)} ${y(0)}V${y(1)}M${x(0)} ${y(t)}H${x(1)}`, stroke: line, fill: "none" });
      add("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end", fill: muted }, String(t));
      add("text", { x: x(t), y: base + 16, "text-anchor": "middle", fill: muted }, String(t));
    }
    add("path", { d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}`, stroke: muted, "stroke-dasharray": "5 4", fill: "none" });
    const most = Math.max(...m.bins.map((bin) => bin.n));
    for (const bin of m.bins.filter((each) => each.n)) {
      const [u, z] = [x(bin.mean_predicted), y(bin.mean_target)], words = `${shown(bin.lower)} to ${shown(bin.upper)}: ${
        whole(bin.n)} rows, mean prediction ${shown(bin.mean_predicted)}, observed ${shown(bin.mean_target)}`;
      add("path", { d: `M${u} ${y(bin.low)}V${y(bin.high)}M${u - 4} ${y(bin.low)}h8M${u - 4} ${y(bin.high)}h8`, stroke: one, "stroke-width": 1.5, fill: "none" });
      add("circle", { cx: u, cy: z, r: 4.5, fill: one }).append(Object.assign(document.createElementNS(space, "title"), { textContent: words }));
      const high = Math.max(1, (strip * bin.n) / most), wide = size / config.bins;
      add("rect", { x: x(bin.lower) + 1, y: base - high, width: wide - 2, height: high, fill: muted, opacity: 0.6 });
    }
    add("text", { x: left, y: base - strip - 8, fill: muted, "font-size": 11 }, `rows in each bin, up to ${whole(most)}`);
    add("text", { x: x(0.5), y: base + 36, "text-anchor": "middle", fill: ink }, m.k > 1 ? "confidence" : "predicted probability");
    add("text", { transform: `translate(18 ${y(0.5)}) rotate(-90)`, "text-anchor": "middle", fill: ink }, m.soft ? "mean label" : "observed frequency");
    byId("chart").replaceChildren(svg);
  };

  // --- downloads ---
  const save = (/** @type {Blob} */ blob, /** @type {string} */ ending) => {
    const url = URL.createObjectURL(blob), name = (made?.file ?? "rows").replace(/\.\w+$/, "");
    Object.assign(document.createElement("a"), { href: url, download: `${name}-calibration.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  byId("png").addEventListener("click", async () => {
    const svg = /** @type {SVGSVGElement} */ (byId("chart").firstChild), { width, height } = svg.viewBox.baseVal;
    const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true)), picture = new Image(), canvas = document.createElement("canvas");
    for (const [name, value] of Object.entries({ width, height })) copy.setAttribute(name, String(value * 2));
    picture.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
    await picture.decode();
    Object.assign(canvas, { width: width * 2, height: height * 2 });
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.fillStyle = getComputedStyle(root).getPropertyValue("--paper");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(picture, 0, 0);
    canvas.toBlob((blob) => { if (blob) save(blob, "png"); });
  });
  byId("csv").addEventListener("click", () => {
    if (!made) return;
    const names = /** @type {(keyof Bin)[]} */ (Object.keys(made.bins[0]));
    const lines = made.bins.map((bin) => names.map((name) => (Number.isNaN(bin[name]) ? "" : bin[name])).join(","));
    save(new Blob([`${[names.join(","), ...lines].join("\n")}\n`], { type: "text/csv" }), "csv");
  });

  // --- what is given ---
  /** @param {string[]} names @param {Record<string, string>} chosen */
  const offerColumns = (names, chosen) => {
    byId("columns").hidden = names.length < 2;
    for (const argument of ["y_true", "y_proba"]) {
      const options = ["", ...names].map((name) => element("option", name || "by name", { value: name }));
      byId(argument).replaceChildren(...options);
      byId(argument).value = chosen[argument] ?? "";
    }
  };
  /** @param {Record<string, string>} chosen */
  const show = (chosen) => {
    if (!given) return;
    const start = performance.now();
    let wrong = "";
    try { offerColumns((made = measure(given.name, given.bytes, chosen)).names, chosen); }
    catch (error) {
      if (!(error instanceof Fault)) throw error;
      [wrong, made] = [error.message, null];
      offerColumns(error.names, chosen);
    }
    byId("fault").textContent = wrong;
    byId("fault").hidden = !wrong;
    byId("results").hidden = byId("sections").hidden = !made;
    if (made) for (const part of [showVerdict, showMeasures, showBins, draw]) part(made);
    const seconds = (performance.now() - start) / 1000;
    byId("status").textContent = made ? `${whole(made.n)} rows measured in ${seconds.toFixed(2)} s.` : "";
    root.dataset.measured = String(Number(root.dataset.measured ?? 0) + 1);
  };
  /** @type {(name: string, bytes: Promise<ArrayBuffer> | ArrayBufferLike) => Promise<void>} */
  const take = async (name, bytes) => {
    byId("status").textContent = `Measuring ${name} ...`;
    given = { name, bytes: new Uint8Array(await bytes) };
    setTimeout(() => show({})); // after the status is painted
  };
  const ofText = (/** @type {string} */ name, /** @type {string} */ text) => take(name, new TextEncoder().encode(text).buffer);
  const takeFile = (/** @type {File | undefined} */ file) => { if (file) take(file.name, file.arrayBuffer()); };
  const drop = byId("drop");
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop") takeFile(/** @type {DragEvent} */ (event).dataTransfer?.files[0]);
    });
  }
  byId("file").addEventListener("change", () => { takeFile(byId("file").files[0]); byId("file").value = ""; });
  byId("paste").addEventListener("click", () => ofText("pasted rows", byId("text").value));
  byId("example").addEventListener("click", () => {
    let text = "label,probability\n";
    for (let i = 0; i < 2000; i++) { // a model whose predictions are too extreme
      const p = ((i * 0.618034) % 1) * 0.98 + 0.01, right = 1 / (1 + Math.exp(-0.7 * Math.log(p / (1 - p))));
      text += `${Number((i * 0.754877) % 1 < right)},${p.toFixed(4)}\n`;
    }
    ofText("example.csv", text);
  });
  for (const argument of ["y_true", "y_proba"]) {
    byId(argument).addEventListener("change", () => show({ y_true: byId("y_true").value, y_proba: byId("y_proba").value }));
  }
  nameTheme();
  root.dataset.ready = "yes";
})();
