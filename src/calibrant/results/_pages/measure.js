"use strict";
/* What the page that measures computes: files read, columns found, measures. It knows no page, so that
   tests run it without a browser. Names of columns, messages and limits are Python's, in `Config`. */

/** @typedef {{ texts: Record<string, string>, usual: Record<string, string[]>,
 *   lessUsual: Record<string, string[]>, numbered: Record<string, string[]>,
 *   named: Record<string, string[]>, answered: string[], truths: string[], right: string[],
 *   confidences: string[], predicted: string[], gaps: string[], delimiters: string,
 *   shown: number, bins: number, overshoot: number, rowSum: number, logFloor: number, eps: number,
 *   z: number, level: number, tolerance: number, draws: number, blocks: number, fewRows: number,
 *   shares: Record<string, number>, slopeZ: number, version: string }} Config */
/** @typedef {{names: string[], stacked: boolean, classes: string[] | null}} Spec */
/** @typedef {{numbers: Float64Array, texts: (string | null)[] | null, width: number}} Column */
/** @typedef {{ file: string, names: string[], notes: string[], n: number,
 *   width: (name: string) => number, line: (row: number) => number,
 *   read: (names: string[], roles: string[]) => Column[] }} Source */
/** @typedef {{bin: number, lower: number, upper: number, n: number, weight: number,
 *   mean_predicted: number, mean_target: number, gap: number, low: number, high: number}} Bin */
/** @typedef {{value: number, low: number, high: number, error: number, why: string}} Slope */
/** @typedef {{mean: number, upper: number, p: number, meanP: number, draws: number}} Floor */
/** Predictions in increasing order with their targets; bin j has the rows from first[j] on.
 * @typedef {{u: Float64Array, z: Float64Array, h: Float64Array, n: number, first: Uint32Array,
 *   soft: boolean}} Rows */
/** @typedef {ReturnType<ReturnType<typeof calibrant>["measure"]>} Measured */

/** An error for the reader, as Python words it, with the columns that there are. */
class Fault extends Error {
  names = /** @type {string[]} */ ([]);
}

/** A sum with what rounding took from it (Neumaier, 1974). */
class Sum {
  sum = 0; lost = 0;
  /** @param {number} x */
  add(x) {
    const now = this.sum + x;
    this.lost += Math.abs(this.sum) >= Math.abs(x) ? this.sum - now + x : x - now + this.sum;
    this.sum = now;
  }
  get value() { return this.sum + this.lost; }
}

/** What measures, from what Python gives. @param {Config} config */
const calibrant = (config) => {
  /** @typedef {Record<string, unknown>} Slots */
  /** @type {(key: string, slots?: Slots) => string} */
  const say = (key, slots = {}) => config.texts[key].replace(/\{(\w+)\}/g, (slot, name) =>
    (name in slots ? String(slots[name]) : slot));
  /** @type {(key: string, slots?: Slots) => Fault} */
  const fault = (key, slots) => new Fault(say(key, slots));
  /** @type {(source: Source, row: number) => string} */
  const lineOf = (source, row) => `${source.file}, line ${source.line(row)}`;

  // --- texts and numbers as Python writes them ---
  /** @param {string} text */
  const quoted = (text) => {
    const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
    const escaped = text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\t/g, "\\t");
    return mark + (mark === "'" ? escaped.replace(/'/g, "\\'") : escaped) + mark;
  };
  /** @param {number} x */
  const floatText = (x) => {
    if (!Number.isFinite(x)) return x > 0 ? "inf" : x < 0 ? "-inf" : "nan";
    const size = Math.abs(x);
    if (size === 0 || (size >= 1e-4 && size < 1e16)) return Number.isInteger(x) ? `${x}.0` : String(x);
    const [digits, power] = x.toExponential().split("e");
    return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  };
  /** A label: a whole number is written without a point. @param {number} x */
  const labelText = (x) => (Number.isInteger(x) ? String(x) : floatText(x));
  /** The number that a text writes; null if it writes none. @param {string} text */
  const plainNumber = (text) => {
    const trimmed = text.trim();
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) return Number(trimmed);
    if (/^[+-]?nan$/i.test(trimmed)) return NaN;
    return /^[+-]?inf(inity)?$/i.test(trimmed) ? (trimmed[0] === "-" ? -Infinity : Infinity) : null;
  };
  /** @type {(location: string, column: string, text: string, proba: boolean) => Fault} */
  const noNumber = (location, column, text, proba) => {
    let hint = "";
    if (text.trim().endsWith("%")) hint = say(proba ? "each_percent" : "by_100");
    else if (plainNumber(text.replace(",", ".")) !== null) hint = say("comma");
    else if (/\p{L}/u.test(text) && proba) hint = say("words");
    const value = quoted(text.length <= 40 ? text : `${text.slice(0, 37)}...`);
    return fault("no_number", { location, column, value, hint });
  };

  // --- CSV ---
  const decoder = new TextDecoder(), gaps = new Set(config.gaps);
  const POWERS = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
  /** A number in plain digits; NaN if it is written otherwise.
   * @type {(bytes: Uint8Array, at: number, end: number) => number} */
  const digits = (bytes, at, end) => {
    let whole = 0, power = 0, seen = 0, point = false;
    const negative = bytes[at] === 45;
    for (let i = negative ? at + 1 : at; i < end; i++) {
      const digit = bytes[i] - 48;
      if (digit >= 0 && digit <= 9) {
        whole = whole * 10 + digit;
        if (point) power++;
        seen++;
      } else if (bytes[i] === 46 && !point) point = true;
      else return NaN;
    }
    if (!seen) return NaN;
    if (whole > Number.MAX_SAFE_INTEGER || power > 22) {
      return Number(String.fromCharCode.apply(null, /** @type {any} */ (bytes.subarray(at, end))));
    }
    // Both are exact, so that the division rounds once.
    return (negative ? -whole : whole) / POWERS[power];
  };
  /** The text of a field, without quotes.
   * @type {(bytes: Uint8Array, at: number, end: number) => string} */
  const fieldText = (bytes, at, end) => {
    const text = decoder.decode(bytes.subarray(at, end));
    return text[0] === '"' ? text.replace(/^"|"$/g, "").replace(/""/g, '"') : text;
  };
  /** Go through rows from a byte on: `field` is called for each field, and after each row `row`, with
   * the number of its fields and its line, which says whether to go on. Empty lines are no rows.
   * @param {Uint8Array} bytes @param {number} at @param {number} mark @param {number} line
   * @param {(column: number, start: number, end: number) => void} field
   * @param {(n: number, line: number) => boolean} row */
  const scan = (bytes, at, mark, line, field, row) => {
    const end = bytes.length;
    while (at < end) {
      if (bytes[at] === 10 || bytes[at] === 13) {
        line += bytes[at] === 13 && bytes[at + 1] === 10 ? 0 : 1;
        at++;
        continue;
      }
      const first = line;
      let column = 0;
      for (;;) {
        const start = at;
        if (bytes[at] === 34) {
          for (at++; at < end; at++) {
            if (bytes[at] === 10) line++;
            if (bytes[at] === 34 && bytes[++at] !== 34) break;
          }
        }
        while (at < end && bytes[at] !== mark && bytes[at] !== 10 && bytes[at] !== 13) at++;
        field(column++, start, at);
        if (at >= end || bytes[at] !== mark) break;
        at++;
      }
      if (!row(column, first)) return at;
    }
    return at;
  };
  /** @type {(file: string, bytes: Uint8Array) => Source} */
  const csvSource = (file, bytes) => {
    const begin = bytes[0] === 0xef && bytes[1] === 0xbb ? 3 : 0;
    let top = "", header = 0;
    const stop = scan(bytes, begin, -1, 1,
      (_, start, end) => { top = decoder.decode(bytes.subarray(start, end)); },
      (_, line) => { header = line; return false; });
    if (!header) throw fault("no_rows", { holder: `${file} holds` });
    const delimiter = /\.tsv$/i.test(file) ? "\t"
      : [...config.delimiters].find((each) => top.includes(each)) ?? ",";
    const mark = delimiter.charCodeAt(0);
    /** @type {string[]} */
    const names = [];
    scan(bytes.subarray(0, stop), begin, mark, 1,
      (_, start, end) => names.push(fieldText(bytes, start, end)), () => false);
    if (names.every((name) => plainNumber(name) !== null)) {
      throw fault("holds_numbers", { location: `${file}, line ${header}` });
    }
    /** @type {number[]} */
    let lines = [];
    /** The wanted columns; null if one of labels has to be read as text.
     * @type {(wanted: string[], roles: string[]) => Column[] | null} */
    const read = (wanted, roles) => {
      const slots = new Int32Array(names.length).fill(-1);
      wanted.forEach((name, slot) => { slots[names.indexOf(name)] = slot; });
      const starts = new Int32Array(wanted.length), ends = new Int32Array(wanted.length);
      // A row has at least a sign and an end for each column.
      const most = Math.ceil(bytes.length / (2 * names.length)) + 1;
      const columns = roles.map((role) => ({ numbers: new Float64Array(most), width: 1,
        texts: role === "text" ? /** @type {(string | null)[]} */ ([]) : null }));
      let odd = false;
      lines = [];
      scan(bytes, stop, mark, header, (column, start, end) => {
        const slot = column < slots.length ? slots[column] : -1;
        if (slot >= 0) { starts[slot] = start; ends[slot] = end; }
      }, (n, line) => {
        const location = () => `${file}, line ${line}`, row = lines.push(line) - 1;
        if (n !== names.length) throw fault("row_width", { location: location(), n, n_named: names.length });
        for (let slot = 0; slot < wanted.length; slot++) {
          const { numbers, texts } = columns[slot], start = starts[slot], end = ends[slot];
          const inner = bytes[start] === 34 && bytes[end - 1] === 34 ? 1 : 0;
          const number = texts ? NaN : digits(bytes, start + inner, end - inner);
          numbers[row] = number;
          if (number === number) continue;
          const raw = fieldText(bytes, start, end), text = raw.trim(), gap = gaps.has(text);
          if (texts) texts.push(gap ? null : raw);
          else if (!gap) {
            const slow = plainNumber(text);
            if (slow === null && roles[slot] !== "label") throw noNumber(location(), wanted[slot], text || raw, true);
            odd ||= slow === null;
            numbers[row] = slow ?? NaN;
          }
        }
        return !odd;
      });
      if (odd) return null;
      for (const column of columns) column.numbers = column.numbers.subarray(0, lines.length);
      return columns;
    };
    /** @type {Source} */
    const source = {
      file, names, n: 0, width: () => 1, line: (row) => lines[row],
      notes: delimiter === "," ? [] : [`columns are separated by ${quoted(delimiter)}`],
      read: (wanted, roles) => {
        const asText = roles.map((role) => (role === "label" ? "text" : role));
        const made = read(wanted, roles) ?? /** @type {Column[]} */ (read(wanted, asText));
        made.forEach(readTruths);
        source.n = lines.length;
        return made;
      },
    };
    return source;
  };
  /** Labels that are all true or false become numbers. @param {Column} column */
  const readTruths = (column) => {
    const { texts } = column;
    if (!texts || !texts.every((t) => t === null || /^(0|1|true|True|TRUE|false|False|FALSE)$/.test(t))) return;
    column.numbers = Float64Array.from(texts, (t) => (t === null ? NaN : Number(/^(1|true)$/i.test(t))));
    column.texts = null;
  };

  // --- JSON lines ---
  /** @type {(value: any) => boolean} */
  const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  /** @type {(record: Record<string, any>, prefix: string, seen: Map<string, any>) => void} */
  const flatten = (record, prefix, seen) => {
    for (const [key, value] of Object.entries(record)) {
      if ((seen.get(prefix + key) ?? null) === null) seen.set(prefix + key, isRecord(value) ? null : value);
      if (isRecord(value)) flatten(value, `${prefix}${key}.`, seen);
    }
  };
  /** The value at a dotted path; several parts may form one key. @type {(at: any, path: string[]) => any} */
  const valueAt = (at, path) => {
    if (!path.length || !isRecord(at)) return path.length ? null : at;
    for (let parts = 1; parts <= path.length; parts++) {
      const key = path.slice(0, parts).join(".");
      const found = key in at ? valueAt(at[key], path.slice(parts)) : null;
      if (found !== null) return found;
    }
    return null;
  };
  /** @type {(location: string, text: string) => Record<string, any>} */
  const parseRecord = (location, text) => {
    let record;
    try { record = JSON.parse(text); }
    catch { throw fault("not_json", { location, fault: "is not JSON" }); }
    if (isRecord(record)) return record;
    const kinds = { string: "text", number: "number", boolean: "truth value" };
    const type = /** @type {keyof typeof kinds} */ (typeof record);
    const kind = record === null ? "null" : Array.isArray(record) ? "list" : kinds[type];
    throw fault("no_record", { location, kind });
  };
  /** @type {(file: string, bytes: Uint8Array) => Source} */
  const jsonSource = (file, bytes) => {
    /** @type {Record<string, any>[]} */
    const records = [], head = new Map();
    /** @type {number[]} */
    const lines = [];
    decoder.decode(bytes).split("\n").forEach((text, i) => {
      if (!text.trim()) return;
      records.push(parseRecord(`${file}, line ${i + 1}`, text));
      lines.push(i + 1);
    });
    for (const record of records.slice(0, 1000)) flatten(record, "", head);
    /** @type {(name: string) => boolean} */
    const within = (name) => {
      const above = name.slice(0, Math.max(name.lastIndexOf("."), 0));
      return above !== "" && ((head.get(above) ?? null) !== null || within(above));
    };
    /** @param {string} name */
    const width = (name) => Math.max(1, Array.isArray(head.get(name)) ? head.get(name).length : 1);
    /** @type {(value: any, location: string, column: string, role: string) => number} */
    const numberOf = (value, location, column, role) => {
      if (value === null) return NaN;
      if (typeof value === "number" || (typeof value === "boolean" && role === "label")) return Number(value);
      const number = typeof value === "string" ? plainNumber(value) : null;
      if (number !== null) return number;
      if (typeof value === "string") throw noNumber(location, column, value, role !== "label");
      const what = typeof value === "boolean" ? value : Array.isArray(value) ? "a list" : "a record";
      throw fault("cell", { location, column, what: `${what}, but must be a number` });
    };
    /** @type {(column: string, role: string) => Column} */
    const read = (column, role) => {
      const k = width(column), numbers = new Float64Array(records.length * k).fill(NaN);
      const values = records.map((r) => (column in r ? r[column] : valueAt(r, column.split("."))));
      if (role === "label" && values.some((v) => typeof v === "string" && plainNumber(v) === null)) {
        return { numbers, texts: values.map((v) => (v === null ? null : String(v))), width: 1 };
      }
      values.forEach((value, row) => {
        const location = `${file}, line ${lines[row]}`, list = Array.isArray(value) && k > 1 ? value : [value];
        if (value !== null && list.length !== k) {
          throw fault("cell", { location, column, what: `a list of ${list.length}, but other rows have ${k} numbers` });
        }
        list.forEach((each, j) => { numbers[row * k + j] = numberOf(each, location, column, role); });
      });
      return { numbers, texts: null, width: k };
    };
    return { file, names: [...head.keys()].filter((name) => !within(name)), notes: [], width,
      n: records.length, line: (row) => lines[row],
      read: (wanted, roles) => wanted.map((name, i) => read(name, roles[i])) };
  };

  // --- which columns are meant ---
  /** The column of a name, or the fields of a record as one column for each class.
   * @type {(names: string[], name: string) => Spec} */
  const columnOrRecord = (names, name) => {
    const fields = names.filter((each) => each.startsWith(`${name}.`));
    if (fields.length < 2) return { names: [name], stacked: false, classes: null };
    return { names: fields, stacked: true, classes: fields.map((f) => f.slice(name.length + 1)) };
  };
  /** Columns p_0, p_1, ... or proba_cat, proba_dog, ... of all classes.
   * @type {(names: string[], numbered: string[], named: string[]) => Spec[]} */
  const families = (names, numbered, named) => {
    /** @type {Spec[]} */
    const out = [];
    for (const prefix of numbered) {
      const numbers = names.map((name) => new RegExp(`^${prefix}_?(\\d+)$`, "i").exec(name)?.[1]);
      const by = new Map(names.flatMap((name, i) => (numbers[i] ? [[Number(numbers[i]), name]] : [])));
      const sorted = [...by.keys()].sort((a, b) => a - b), first = sorted[0];
      if (sorted.length < 2 || first > 1 || sorted.some((x, i) => x !== first + i)) continue;
      const classes = first ? sorted.map(String) : null;
      out.push({ names: sorted.map((x) => String(by.get(x))), stacked: true, classes });
    }
    for (const prefix of named) {
      const longer = named.filter((each) => each.startsWith(`${prefix}_`));
      const found = names.filter((name) => new RegExp(`^${prefix}_(?!\\d+$).`, "is").test(name)
        && !longer.some((each) => name.toLowerCase().startsWith(each)));
      const classes = found.map((name) => name.slice(prefix.length + 1));
      if (found.length > 1) out.push({ names: found, stacked: true, classes });
    }
    return out;
  };
  /** @type {(names: string[], kind: string) => Spec[]} */
  const candidates = (names, kind) => {
    const among = (/** @type {string[]} */ list) => names.filter((name) => list.includes(name.toLowerCase()));
    const each = (/** @type {string[]} */ list) => list.map((name) => columnOrRecord(names, name));
    const usual = among(config.usual[kind]), truths = among(config.truths);
    const answered = usual.length && usual.every((name) => config.answered.includes(name.toLowerCase()));
    if (kind === "y_true" && truths.length && answered) return each([...usual, ...truths]);
    const found = [...each(usual), ...families(names, config.numbered[kind], config.named[kind])];
    if (found.length) return found;
    const less = each(among(config.lessUsual[kind]));
    return less.length ? less : each(names.filter((name) => {
      const parts = name.split(".").map((part) => config.usual[kind].includes(part.toLowerCase()));
      return parts.lastIndexOf(true) === parts.length - 1 && parts.indexOf(true) === parts.length - 1;
    }));
  };
  /** @param {Spec} spec */
  const inWords = ({ names }) => (names.length === 1 ? `the column ${quoted(names[0])}`
    : `the columns ${quoted(names[0])} to ${quoted(names[names.length - 1])}`);
  /** @type {(source: Source, argument: "y_true" | "y_proba") => Spec} */
  const guess = ({ file, names }, argument) => {
    const found = candidates(names, argument);
    if (found.length === 1) return found[0];
    if (found.length) {
      throw fault("which_column", { argument, candidates: found.map(inWords).join(" or "), file });
    }
    const columns = names.slice(0, config.shown).map(quoted).join(", ") + (names.length > config.shown ? ", ..." : "");
    const logits = names.find((name) => config.usual.logits.includes(name.toLowerCase()));
    const hint = argument === "y_proba" && logits
      ? `. If these are logits: y_proba=${quoted(logits)}, from_logits=True` : "";
    const known = [...config.usual[argument], ...config.lessUsual[argument]].join(", ");
    throw fault("no_column", { argument, file, names: known, columns, hint });
  };
  /** @type {(source: Source, labels: Spec, predictions: Spec) => void} */
  const checkWhoseConfidence = (source, labels, predictions) => {
    const found = predictions.names[0], label = labels.names[0];
    const answer = source.names.find((name) => config.predicted.includes(name.toLowerCase()));
    if (!answer || !config.confidences.includes(found.toLowerCase()) || predictions.stacked
      || config.right.includes(label.toLowerCase()) || source.width(found) > 1) return;
    const [a, g, p] = [answer, label, found].map(quoted);
    throw fault("whose_confidence", { subject: "y_proba", found: p, file: source.file, answer: a,
      if_so: `answer=${a}, gold=${g}, y_proba=${p}`, if_not: `y_proba=${p}` });
  };

  // --- rows ---
  /** Columns as one, (n, k). @type {(parts: Column[], n: number) => Column} */
  const stacked = (parts, n) => {
    const k = parts.length;
    if (k === 1) return parts[0];
    const numbers = new Float64Array(n * k);
    parts.forEach((part, j) => { for (let i = 0; i < n; i++) numbers[i * k + j] = part.numbers[i]; });
    return { numbers, texts: null, width: k };
  };
  /** @type {(source: Source, column: Column, argument: string) => void} */
  const checkGaps = (source, { numbers, texts, width }, argument) => {
    /** @type {number[]} */
    const gone = [];
    for (let i = 0; i < source.n; i++) {
      let gap = texts ? texts[i] === null : false;
      if (!texts) for (let j = i * width; j < (i + 1) * width; j++) gap ||= numbers[j] !== numbers[j];
      if (gap) gone.push(i);
    }
    if (!gone.length) return;
    const location = lineOf(source, gone[0]);
    throw fault("missing", { location, argument, others: gone.length - 1, n: source.n });
  };
  /** Labels that are names of classes become indices.
   * @type {(source: Source, labels: Column, classes: string[] | null) => void} */
  const indexLabels = (source, labels, classes) => {
    const texts = labels.texts;
    if (!classes) {
      if (!texts) return;
      const named = texts.map((t) => t !== null && plainNumber(t) === null);
      const odd = named.filter(Boolean).length, row = named.indexOf(true);
      const slots = { location: lineOf(source, row), value: quoted(String(texts[row])) };
      const n = texts.filter((t) => t !== null).length - odd;
      throw n > odd ? fault("named_among", { ...slots, n: n.toLocaleString("en") }) : fault("named_label", slots);
    }
    // Where no class has a number for its name, numbers are indices.
    if (!texts && classes.every((name) => plainNumber(name) === null)) return;
    const byText = new Map(classes.map((name, i) => [name, i]));
    const byNumber = new Map(classes.map((name, i) => [plainNumber(name), i]));
    const numbered = classes.every((name, j) => name === String(j + 1));
    for (let i = 0; i < source.n; i++) {
      const label = texts ? String(texts[i]) : labels.numbers[i];
      const number = typeof label === "string" ? plainNumber(label) : label;
      const found = byText.get(String(label)) ?? (number === null ? undefined : byNumber.get(number));
      if (found === undefined) {
        const value = typeof label === "string" || numbered ? quoted(String(label)) : labelText(label);
        const hint = numbered ? say("from_one") : `use one of ${classes.map(quoted).join(", ")}`;
        throw fault("unknown_label", { location: lineOf(source, i), value, hint });
      }
      labels.numbers[i] = found;
    }
    labels.texts = null;
  };
  /** What is wrong with a row's prediction; "" if nothing is. @type {(p: Float64Array, row: number, k: number) => string} */
  const predictionFault = (p, row, k) => {
    let total = 0;
    for (let j = 0; j < k; j++) {
      const value = p[row * k + j];
      total += value;
      if (value >= -config.overshoot && value <= 1 + config.overshoot) continue;
      const slots = { at: `y_proba[${k > 1 ? `${row}, ${j}` : row}]`, value: floatText(value) };
      if (!Number.isFinite(value)) return say("infinite", slots);
      return say(value < 0 && p.every((x) => x <= 0) ? "log_range" : "range", slots);
    }
    if (k === 1 || Math.abs(total - 1) <= config.rowSum) return "";
    return say("row_sum", { at: `y_proba[${row}]`, value: floatText(total), tolerance: config.rowSum });
  };
  /** What is wrong with a row's target; "" if nothing is. @type {(labels: Column, row: number, k: number) => string} */
  const targetFault = (labels, row, k) => {
    const z = labels.numbers[row];
    if (z >= 0 && z <= 1 && labels.width === 1 && (k === 1 || z === Math.floor(z))) return "";
    const at = `y_true[${row}]`, value = labelText(z), last = k - 1;
    if (labels.width > 1) {
      let total = 0;
      for (let j = 0; j < k; j++) total += labels.numbers[row * k + j];
      const hint = total ? say("rounded") : "";
      return Math.abs(total - 1) <= config.rowSum ? "" : say("soft_sum", { at, value: floatText(total), hint });
    }
    if (!Number.isFinite(z)) return say("infinite_target", { at, value });
    if (k > 1 && z !== Math.floor(z)) return say("index_fraction", { at, value, k, last });
    if (k > 1) return z >= 0 && z < k ? "" : say("index_range", { at, value, last });
    if (z >= -config.overshoot && z <= 1 + config.overshoot) return "";
    const votes = z > 1 && Number.isInteger(z) ? say("target_votes") : "";
    return say("target", { at, value, hint: say("target_names") + votes });
  };
  /** @param {number} x */
  const clipped = (x) => (x > 0 ? (x < 1 ? x : 1) : 0);
  /** One probability and one target a row, and losses: of P(y = 1), or of several classes with the
   * confidence in the top label. @type {(labels: Column, predictions: Column, n: number) => any} */
  const problemOf = (labels, { numbers: p, width }, n) => {
    const u = new Float64Array(n), z = new Float64Array(n), k = Math.max(width, 2);
    const brier = new Sum(), log = new Sum(), ofRows = labels.width > 1;
    let soft = false;
    for (let i = 0; i < n; i++) {
      let top = width === 1 ? 1 : 0;
      for (let j = 0; j < k; j++) {
        const x = width > 1 ? clipped(p[i * k + j]) : j ? clipped(p[i]) : 1 - clipped(p[i]);
        const label = labels.numbers[ofRows ? i * k + j : i];
        const y = ofRows ? clipped(label) : width > 1 ? Number(label === j) : j ? clipped(label) : 1 - clipped(label);
        if (width > 1 && x > u[i]) top = j;
        if (j === top) { u[i] = x; z[i] = y; }
        if (width > 1 || j) brier.add((x - y) * (x - y));
        if (y > 0) log.add(-y * Math.log(Math.max(x, config.logFloor)));
        soft ||= y > 0 && y < 1;
      }
    }
    return { u, z, soft, k: width, brier: brier.value / n, logLoss: log.value / n };
  };
  /** Which columns are meant, and their rows after checks.
   * @type {(source: Source, chosen: Record<string, string>) => any} */
  const readRows = (source, chosen) => {
    const [of, spec] = /** @type {const} */ (["y_true", "y_proba"]).map((argument) =>
      (chosen[argument] ? columnOrRecord(source.names, chosen[argument]) : guess(source, argument)));
    if (!chosen.y_proba) checkWhoseConfidence(source, of, spec);
    const roles = [...of.names.map(() => (of.stacked ? "number" : "label")), ...spec.names.map(() => "proba")];
    const columns = source.read([...of.names, ...spec.names], roles);
    if (!source.n) throw fault("no_rows", { holder: `${source.file} holds` });
    const labels = stacked(columns.slice(0, of.names.length), source.n);
    const predictions = stacked(columns.slice(of.names.length), source.n), k = predictions.width;
    checkGaps(source, predictions, "y_proba");
    checkGaps(source, labels, "y_true");
    indexLabels(source, labels, spec.classes);
    if (labels.width > 1 && labels.width !== k) {
      throw new Fault(`${source.file}: ${say("same_classes", { n: labels.width, k })}`);
    }
    for (let i = 0; i < source.n; i++) {
      const wrong = predictionFault(predictions.numbers, i, k) || targetFault(labels, i, k);
      if (wrong) throw new Fault(`${lineOf(source, i)}: ${wrong}`);
    }
    const made = problemOf(labels, predictions, source.n);
    if (made.soft && predictions.numbers.every((x) => x === 0 || x === 1)) {
      throw fault("swapped", { first: quoted(of.names[0]), second: quoted(spec.names[0]) });
    }
    const notes = [k > 1 ? `multiclass probabilities, ${k} classes` : "binary probabilities",
      made.soft ? "labels are soft (probabilities)" : "labels are hard (0 or 1)", ...source.notes];
    if (!chosen.y_true) notes.push(`y_true is ${inWords(of)}, by its name`);
    if (!chosen.y_proba) notes.push(`y_proba is ${inWords(spec)}, by name`);
    if (spec.classes) notes.push(`classes are ${spec.classes.map(quoted).join(", ")}, by the columns' names`);
    return { ...made, notes, y_true: of.names[0], y_proba: spec.names[0] };
  };

  // --- measures ---
  /** Rows in order of u, by its bits, eleven at a time; u must be 0 or more.
   * @type {(u: Float64Array, z: Float64Array, soft: boolean) => Rows} */
  const inOrder = (u, z, soft) => {
    const n = u.length, m = config.bins, first = new Uint32Array(m + 1).fill(n), starts = new Uint32Array(2049);
    let [v, w] = /** @type {Float64Array[]} */ ([new Float64Array(n), new Float64Array(n)]);
    for (let part = 0; part < 6; part++) {
      const bits = new Uint32Array(u.buffer), word = part < 3 ? 0 : 1, shift = 11 * (part % 3);
      starts.fill(0);
      for (let i = 0; i < n; i++) starts[((bits[2 * i + word] >>> shift) & 2047) + 1]++;
      for (let j = 0; j < 2048; j++) starts[j + 1] += starts[j];
      for (let i = 0; i < n; i++) {
        const to = starts[(bits[2 * i + word] >>> shift) & 2047]++;
        v[to] = u[i];
        w[to] = z[i];
      }
      [u, z, v, w] = [v, w, u, z];
    }
    first[0] = 0;
    for (let i = 0, j = 1; i < n; i++) for (; j < m && u[i] >= j / m; j++) first[j] = i;
    // Logits, clipped as `cox_calibration` does.
    for (let i = 0; i < n; i++) {
      const p = Math.min(Math.max(u[i], config.eps), 1 - config.eps);
      v[i] = Math.log(p) - Math.log1p(-p);
    }
    return { u, z, h: v, n, first, soft };
  };
  /** ATB, (1/n^2) times the integral of L(q)^2 + (T - L(q))^2 for sums L(q) of residuals below q, and
   * AUROC. @param {Rows} rows */
  const ordered = ({ u, z, n }) => {
    const total = new Sum(), up = new Sum(), through = new Sum();
    const integral = new Sum(), pairs = new Sum(), down = new Sum();
    for (let i = 0; i < n; i++) { total.add(u[i]); total.add(-z[i]); up.add(z[i]); }
    const ends = total.value, size = (/** @type {number} */ below) => below * below + (ends - below) ** 2;
    let at = 0;
    for (let i = 0, j = 0; i < n; i = j) {
      integral.add((u[i] - at) * size(through.value));
      at = u[i];
      let here = 0;
      for (; j < n && u[j] === at; j++) { here += z[j]; through.add(at); through.add(-z[j]); }
      pairs.add(here * (down.value + (j - i - here) / 2));
      down.add(j - i - here);
    }
    integral.add((1 - at) * size(through.value));
    const auroc = Math.min(1, pairs.value / (up.value * (n - up.value)));
    return { atb: integral.value / (n * n), auroc };
  };
  /** The bins, with limits of their mean targets: Wilson's, or those of a normal mean for soft labels.
   * @param {Rows} rows @returns {Bin[]} */
  const tableOf = ({ u, z, first, soft }) => Array.from({ length: config.bins }, (_, bin) => {
    const n = first[bin + 1] - first[bin], su = new Sum(), sz = new Sum(), squares = new Sum(), q = config.z;
    for (let i = first[bin]; i < first[bin + 1]; i++) { su.add(u[i]); sz.add(z[i]); squares.add(z[i] * z[i]); }
    const p = sz.value / n, spread = Math.max(squares.value / n - p * p, 0);
    const wide = (q * Math.sqrt((p * (1 - p)) / n + (q * q) / (4 * n * n))) / (1 + (q * q) / n);
    const half = !soft ? wide : n > 1 ? q * Math.sqrt(spread / (n - 1)) : 1;
    const centre = soft ? p : (p + (q * q) / (2 * n)) / (1 + (q * q) / n);
    return { bin, lower: bin / config.bins, upper: (bin + 1) / config.bins, n, weight: n,
      mean_predicted: su.value / n, mean_target: p, gap: (su.value - sz.value) / n,
      low: Math.max(centre - half, 0), high: Math.min(centre + half, 1) };
  });
  /** Why slope and intercept have no finite best fit; "" where they have one. @param {Rows} rows */
  const whyNot = ({ h, z, n }) => { // logits h increase
    let lowUp = Infinity, highUp = -Infinity, lowDown = Infinity, highDown = -Infinity;
    for (let i = 0; i < n; i++) {
      if (z[i] > 0) { highUp = h[i]; if (lowUp === Infinity) lowUp = h[i]; }
      if (z[i] < 1) { highDown = h[i]; if (lowDown === Infinity) lowDown = h[i]; }
    }
    if (lowUp > highUp || lowDown > highDown) return "every outcome is the same";
    if (h[n - 1] - h[0] < 1e-12) return "all predictions are alike";
    return lowUp >= highDown || lowDown >= highUp ? "the outcomes are separated by the predictions" : "";
  };
  /** Cox's slope b of logit P(z = 1) = a + b logit u, by Newton's method. @param {Rows} rows @returns {Slope} */
  const slopeOf = (rows) => {
    const { h, z, n, soft } = rows, why = whyNot(rows), mean = new Sum(), spread = new Sum();
    if (why) return { value: NaN, low: NaN, high: NaN, error: NaN, why };
    h.forEach((x) => mean.add(x));
    const centre = mean.value / n;
    h.forEach((x) => spread.add((x - centre) * (x - centre)));
    const scale = Math.sqrt(spread.value / n), xs = h.map((x) => (x - centre) / scale);
    const up = z.reduce((sum, x) => sum + x, 0);
    let a = centre, b = scale, da = 0, db = 0, best = -Infinity, variance = NaN;
    for (let round = 0; round < 200; round++) {
      let s0 = 0, s1 = 0, i00 = 0, i01 = 0, i11 = 0, likelihood = 0;
      const far = round < 2 || Math.abs(da) + Math.abs(db) > 0.1;
      for (let i = 0; i < n; i++) {
        const x = xs[i], line = a + b * x, small = Math.exp(-Math.abs(line));
        const r = z[i] - (line >= 0 ? 1 : small) / (1 + small), v = small / ((1 + small) * (1 + small));
        if (far) likelihood += z[i] * line - Math.max(line, 0) - Math.log1p(small);
        s0 += r; s1 += r * x; i00 += v; i01 += v * x; i11 += v * x * x;
      }
      const rate = up / n, even = n * (rate * Math.log(rate) + (1 - rate) * Math.log(1 - rate));
      if (!round && likelihood < even) { // far from the optimum the information is next to 0
        [a, b, da, db] = [Math.log(rate) - Math.log1p(-rate), 0, 1, 1];
        continue;
      }
      const det = i00 * i11 - i01 * i01;
      variance = i00 / det;
      if (Math.max(Math.abs(da), Math.abs(db)) < 1e-13 && round) break;
      if (far && likelihood < best - 1e-12 * Math.abs(best)) { // far from the optimum Newton overshoots
        [da, db] = [da / 2, db / 2];
        [a, b] = [a - da, b - db];
        continue;
      }
      if (far) best = likelihood;
      [da, db] = [(i11 * s0 - i01 * s1) / det, (i00 * s1 - i01 * s0) / det];
      [a, b] = [a + da, b + db];
    }
    const value = b / scale, error = soft ? NaN : Math.sqrt(Math.max(variance, 0)) / scale;
    return { value, low: value - config.z * error, high: value + config.z * error, error, why };
  };

  // --- noise ---
  /** Numbers in [0, 1) from a seed (mulberry32). @param {number} seed */
  const random = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  /** What draws the number of events among rows with the probabilities u: from its exact distribution
   * or, where that is wide, from a normal one with its skewness.
   * @type {(u: Float64Array, next: () => number) => () => number} */
  const eventsAmong = (u, next) => {
    let mean = 0, variance = 0, third = 0, reach = 0;
    for (const p of u) { mean += p; variance += p * (1 - p); third += p * (1 - p) * (1 - 2 * p); }
    const n = u.length, deviation = Math.sqrt(variance), skew = third / (variance * deviation);
    if (variance > 100) {
      return () => {
        const x = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
        return clipped(Math.round(mean + deviation * (x + (skew * (x * x - 1)) / 6)) / n) * n;
      };
    }
    const flipped = mean > n / 2, rare = flipped ? n - mean : mean;
    const chance = new Float64Array(Math.min(n, Math.ceil(rare + 12 * deviation + 30)) + 1);
    chance[0] = 1;
    for (const p of u) {
      const q = flipped ? 1 - p : p;
      if (q <= 0) continue;
      reach = Math.min(reach + 1, chance.length - 1);
      for (let j = reach; j > 0; j--) chance[j] = chance[j] * (1 - q) + chance[j - 1] * q;
      chance[0] *= 1 - q;
    }
    return () => {
      let left = next(), j = 0;
      while (j < reach && left >= chance[j]) left -= chance[j++];
      return flipped ? n - j : j;
    };
  };
  /** What draws sums of residuals in bins, where predictions are right: of outcomes drawn from the predictions
   * or, for soft labels, of residuals about the gaps of their bins, with random signs, block by block.
   * @type {(rows: Rows, next: () => number) => (bins: Float64Array) => void} */
  const residualDraws = ({ u, z, n, first, soft }, next) => {
    const m = config.bins, blocks = Math.min(n, config.blocks);
    const parts = Array.from({ length: m }, (_, j) => u.subarray(first[j], first[j + 1]));
    if (!soft) {
      const events = parts.map((part) => eventsAmong(part, next)), sums = parts.map((part) => part.reduce((a, b) => a + b, 0));
      return (bins) => { for (let j = 0; j < m; j++) bins[j] = events[j]() - sums[j]; };
    }
    const sums = new Float64Array(blocks * m);
    parts.forEach((part, j) => { // a gap is an estimate: Student's quantile, by its series, for the normal one
      const k = part.length, v = k - 1, c = config.z ** 2, known = k >= config.fewRows, row = first[j];
      const gap = known ? part.reduce((sum, x, i) => sum + z[row + i] - x, 0) / k : 0;
      const factor = known ? Math.sqrt(k / v) * (1 + (c + 1) / (4 * v) + (5 * c * c + 16 * c + 3) / (96 * v * v)) : 1;
      const block = (/** @type {number} */ i) => (n === blocks ? row + i : Math.floor(next() * blocks));
      part.forEach((x, i) => { sums[block(i) * m + j] += (z[row + i] - x - gap) * factor; });
    });
    return (bins) => {
      bins.fill(0);
      for (let at = 0; at < sums.length; at += m) {
        const sign = next() < 0.5 ? -1 : 1;
        for (let j = 0; j < m; j++) bins[j] += sign * sums[at + j];
      }
    };
  };
  /** The ECE that calibrated predictions show by chance, and p-values of the ECE and of the mean.
   * @type {(rows: Rows, ece: number, meanGap: number) => Floor} */
  const noiseFloor = (rows, ece, meanGap) => {
    const { draws, bins: m } = config, values = new Float64Array(draws), bins = new Float64Array(m);
    const draw = residualDraws(rows, random(20240607));
    let beyond = 0, above = 0, below = 0;
    for (let d = 0; d < draws; d++) {
      draw(bins);
      const mean = bins.reduce((a, b) => a + b, 0) / rows.n;
      values[d] = bins.reduce((a, b) => a + Math.abs(b), 0) / rows.n;
      if (values[d] >= ece * (1 - 1e-12)) beyond++;
      if (mean >= meanGap - 1e-12) above++;
      if (mean <= meanGap + 1e-12) below++;
    }
    values.sort();
    const at = 0.95 * (draws - 1), i = Math.floor(at);
    return { mean: values.reduce((a, b) => a + b, 0) / draws, draws, p: (1 + beyond) / (1 + draws),
      upper: values[i] + (at - i) * (values[i + 1] - values[i]),
      meanP: Math.min(1, (2 * (1 + Math.min(above, below))) / (1 + draws)) };
  };
  /** By how many standard deviations the score of slope 1 is off. @param {Rows} rows */
  const slopeScore = ({ u, z, h, n, soft }) => {
    let r = 0, rh = 0, v = 0, vh = 0, vhh = 0;
    for (let i = 0; i < n; i++) {
      if (u[i] < config.eps || u[i] > 1 - config.eps) continue;
      const x = h[i], off = z[i] - u[i], w = soft ? off * off : u[i] * (1 - u[i]);
      r += off; rh += off * x; v += w; vh += w * x; vhh += w * x * x;
    }
    const centre = vh / v, variance = vhh - centre * vh;
    return variance > 1e-12 * vhh ? Math.abs(rh - centre * r) / Math.sqrt(variance) : 0;
  };
  /** The quick verdict: tests of slope, mean and noise floor with Python's shares of false alarms, and
   * the ECE with its noise beside the tolerance.
   * @type {(rows: Rows, ece: number, floor: Floor, slope: Slope) => {word: string, reasons: string[]}} */
  const verdictOf = (rows, ece, floor, slope) => {
    const alpha = 1 - config.level, shares = config.shares, reasons = [];
    const wald = rows.soft ? Infinity : Math.abs(slope.value - 1) / slope.error;
    const ofFloor = shares["noise floor"] + (slope.why ? shares.slope : 0);
    if (!slope.why && Math.min(slopeScore(rows), wald) > config.slopeZ) reasons.push("slope");
    if (floor.meanP < alpha * shares.mean) reasons.push("mean");
    if (floor.p < alpha * ofFloor) reasons.push("noise floor");
    const small = ece + floor.upper <= config.tolerance;
    return { reasons, word: reasons.length ? "miscalibrated" : small ? "calibrated within noise" : "not enough data" };
  };
  /** Everything that the page shows of one file, whose name or first sign says how it is read.
   * @param {string} file @param {Uint8Array} bytes @param {Record<string, string>} [chosen] */
  const measure = (file, bytes, chosen = {}) => {
    const isJson = /\.(jsonl|ndjson)$/i.test(file) || (!/\.(csv|tsv)$/i.test(file)
      && decoder.decode(bytes.subarray(0, 64)).trim().startsWith("{"));
    if (!decoder.decode(bytes.subarray(0, 1024)).trim()) throw fault("no_rows", { holder: `${file} holds` });
    const source = isJson ? jsonSource(file, bytes) : csvSource(file, bytes);
    let read;
    try { read = readRows(source, chosen); }
    catch (error) { throw error instanceof Fault ? Object.assign(error, { names: source.names }) : error; }
    const { u, z, soft, k, brier, logLoss } = read;
    const rows = inOrder(u, z, soft), bins = tableOf(rows), { n } = source;
    const error = new Sum(), sumU = new Sum(), sumZ = new Sum();
    for (const bin of bins) if (bin.n) error.add(Math.abs(bin.gap) * bin.n);
    for (let i = 0; i < n; i++) { sumU.add(u[i]); sumZ.add(z[i]); }
    const ece = error.value / n, slope = slopeOf(rows);
    const floor = noiseFloor(rows, ece, (sumZ.value - sumU.value) / n);
    return { file, n, k: Number(k), soft: Boolean(soft), names: source.names, bins, floor, slope,
      notes: /** @type {string[]} */ (read.notes), y_true: String(read.y_true), y_proba: String(read.y_proba),
      measures: { ece, ...ordered(rows), brier: Number(brier), log_loss: Number(logLoss),
        mean_predicted: sumU.value / n, mean_target: sumZ.value / n },
      verdict: verdictOf(rows, ece, floor, slope) };
  };

  return { measure };
};
