// Figures and tables as files: PNG, SVG and CSV, made in the page and written by the browser.
const downloads = (() => {
  "use strict";
  const root = document.documentElement;
  const SVG = "http://www.w3.org/2000/svg";

  // --- files ---
  const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  // The name of a file is one figure's or table's alone: a second of that name is numbered.
  const owners = new Map();
  const fileName = (what, ending, owner) => {
    const name = [slug(document.title), slug(what)].filter(Boolean).join("-") || "calibrant";
    for (let i = 1; ; i += 1) {
      const full = `${name}${i > 1 ? `-${i}` : ""}.${ending}`;
      if (!owners.has(full)) owners.set(full, owner);
      if (owners.get(full) === owner) return full;
    }
  };
  const write = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };

  // --- CSV ---
  // Names come from users: a text that a spreadsheet would take for a formula is marked as text.
  const FORMULA = /^[=+\-@\t\r＝＋－＠]/;
  const A_NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
  const asText = (text) => (FORMULA.test(text) && !A_NUMBER.test(text) ? `'${text}` : text);
  const quoted = (cell) => {
    const text = asText(cell === null || cell === undefined ? "" : String(cell));
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  // A mark at the beginning, without which spreadsheets read other letters.
  const csv = (rows) => new Blob([`\ufeff${rows.map((row) => row.map(quoted).join(",")).join("\r\n")}\r\n`], { type: "text/csv" });

  // A number as a program reads it: no signs between its thousands, none for what is not there.
  const NUMBER = /^[-−]?[\d.,]+(?:e[-+]?\d+)?$/i;
  const plain = (text) => (text === "–" ? "" : NUMBER.test(text) ? text.replaceAll(",", "").replace("−", "-") : text);
  const LIMITS = /^([-−]?[\d.,]+(?:e[-+]?\d+)?) (?:–|to) ([-−]?[\d.,]+(?:e[-+]?\d+)?)$/i;

  // What a cell says, and what it adds in small letters or as a mark.
  const parts = (cell) => {
    const copy = cell.cloneNode(true);
    for (const aside of copy.querySelectorAll(".aside")) aside.remove();
    const notes = [...copy.querySelectorAll("small, .flag")];
    for (const note of notes) note.remove();
    const clean = (node) => node.textContent.replace(/\s+/g, " ").trim();
    return [cell.dataset.exact ?? clean(copy), notes.map(clean).join("; ")];
  };
  // A column of limits becomes two; notes are columns of their own.
  const asColumns = (head, texts) => {
    if (texts.some(Boolean) && texts.every((text) => !text || text === "–" || LIMITS.test(text))) {
      return [1, 2].map((i) => [`${head} ${i === 1 ? "low" : "high"}`.trim(), ...texts.map((text) => plain(LIMITS.exec(text)?.[i] ?? ""))]);
    }
    return [[head, ...texts.map(plain)]];
  };
  const tableRows = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => row.cells.length === heads.length);
    const columns = heads.flatMap((head, i) => {
      const name = head.textContent.replace(/\s+/g, " ").trim();
      if (head.dataset.picture !== undefined) return [];
      const cells = rows.map((row) => parts(row.cells[i]));
      const notes = cells.map((cell) => cell[1]);
      const own = asColumns(name, cells.map((cell) => cell[0]));
      return notes.some(Boolean) ? [...own, ...asColumns(head.dataset.note ?? `${name} (note)`, notes)] : own;
    });
    return Array.from({ length: rows.length + 1 }, (_, i) => columns.map((column) => column[i]));
  };

  // --- pictures: on white, in the colours of the light page, whatever the reader looks at ---
  const inLight = (make) => {
    const theme = root.dataset.theme;
    root.dataset.theme = "light";
    const made = make(getComputedStyle(root));
    if (theme === undefined) delete root.dataset.theme; else root.dataset.theme = theme;
    return made;
  };
  const shapeAt = (look, x, y, scale) => `<path d="${look.shape}" transform="translate(${x} ${y}) scale(${scale})" fill="${look.colour}"/>`;
  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const legendRow = ({ name, look }, y) => {
    const dash = look.dash?.length ? ` stroke-dasharray="${look.dash.join(" ")}"` : "";
    const short = name.length > 80 ? `${name.slice(0, 78)}…` : name;
    return `<path d="M12,${y}H44" stroke="${look.colour}" stroke-width="2"${dash}/>${look.shape ? shapeAt(look, 28, y, 4) : ""}`
      + `<text x="54" y="${y + 4}" font-size="12" font-family="system-ui, sans-serif" fill="var(--ink)">${escaped(short)}</text>`;
  };
  // Charts below each other as one file: colours written out, the names of series at the end.
  const svgOf = async (views, legend) => {
    const charts = (await Promise.all(views.map((view) => view.toSVG())))
      .map((text) => new DOMParser().parseFromString(text, "image/svg+xml").documentElement);
    let height = 0;
    const width = Math.max(...charts.map((chart) => parseFloat(chart.getAttribute("width"))));
    for (const chart of charts) {
      chart.setAttribute("y", height);
      height += parseFloat(chart.getAttribute("height"));
    }
    const rows = legend.map((entry, i) => legendRow(entry, height + 14 + 20 * i));
    height += legend.length ? 10 + 20 * legend.length : 0;
    const text = `<svg xmlns="${SVG}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`
      + `<rect width="${width}" height="${height}" fill="#ffffff"/>`
      + charts.map((chart) => new XMLSerializer().serializeToString(chart)).join("") + `${rows.join("")}</svg>`;
    const coloured = inLight((style) => text.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim()));
    return { text: coloured, width, height };
  };
  const pngOf = async ({ text, width, height }) => {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    const scale = 3; // 300 dots an inch at the size of the page
    [canvas.width, canvas.height] = [width * scale, height * scale];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  };

  // --- buttons ---
  const button = (label, words, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.setAttribute("aria-label", words);
    made.title = words;
    made.addEventListener("click", act);
    return made;
  };
  const row = (...buttons) => {
    const made = document.createElement("p");
    made.className = "take";
    made.append(...buttons);
    return made;
  };

  // `box` is drawn; `what` names its figure, `rows` gives the numbers, `legend` the series.
  const ofChart = (box, views, { what, rows, legend = () => [] }) => {
    const svg = () => svgOf(views, legend());
    const [png, drawing, numbers] = ["png", "svg", "csv"].map((ending) => fileName(what, ending, box));
    box.after(row(
      button("PNG", `Save ${what} as a PNG picture`, async () => write(await pngOf(await svg()), png)),
      button("SVG", `Save ${what} as an SVG drawing`, async () => write(new Blob([(await svg()).text], { type: "image/svg+xml" }), drawing)),
      button("CSV", `Save the numbers of ${what} as CSV`, () => write(csv(rows()), numbers)),
    ));
  };
  const ofTable = (table) => {
    const what = table.dataset.what ?? table.closest("section").querySelector("h2").textContent.trim();
    const name = fileName(what, "csv", table);
    table.closest(".table-box").after(row(
      button("CSV", `Save the table of ${what} as CSV`, () => write(csv(tableRows(table)), name))));
  };
  return { ofChart, ofTable };
})();
