// The data of a run: one deflated block of typed arrays, read by the browser's own decompression.
const NONE = 0xFFFFFFFF;
// A page has events of messages only if the message is marked.
const MESSAGE_KINDS = ['send', 'deliver', 'drop', 'lost', 'hold'];

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const arrays = {};
  for (const [name, [type, offset, count]] of Object.entries(head.arrays)) {
    arrays[name] = new globalThis[type + 'Array'](buffer, 8 + length + offset, count);
  }
  return { ...head, ...arrays };
}

// What panes ask of a run besides its arrays.
class Run {
  constructor(data, index) {
    Object.assign(this, data);
    this.index = index;
    this.count = this.mark_at.length;
    this.place = new Map(Array.from(this.block_number, (number, place) => [number, place]));
    this.kindOf = new Map(this.kinds.map((kind, number) => [kind, number]));
    this.timeOf = this.firstTimes();
    this.cache = new Map();
    this.columns = this.rows.length ? this.cells.length / this.rows.length : 0;
    this.firstFinal = this.firstFinals();
    this.finalTimes = Array.from(this.cell_ms.filter((at) => at !== NONE), (at) => at * 1000);
    this.stormTimes = Array.from(this.storm_height || [], (height, i) => {
      const at = this.firstFinal[this.columnOf(height)];
      return Number.isFinite(at) ? at : this.storm_time_ms[i] * 1000;
    });
    this.stormMost = this.storm_height ? [Math.max(0, ...this.storm_waiting_dead), Math.max(0, ...this.storm_fired)].map((most) => most.toLocaleString('en')) : [];
  }

  // Times apart of replicas that no partition puts on a side: those on a side have its shade.
  get alone() {
    return this.apart.filter(([, since, until]) => !this.faults.some(([, , , windows, sides]) => sides.length && windows.some(([start, stop]) => since >= start && until <= stop)));
  }

  get axis() { return this.axisMade || (this.axisMade = new Axis(this)); }

  heightOf(column) { return column * this.perTile + 1; }

  columnOf(height) { return Math.floor((height - 1) / this.perTile); }

  // The virtual time at which the first replica held the block of each column as final.
  firstFinals() {
    return Array.from({ length: this.columns }, (_, column) => {
      let first = Infinity;
      for (let row = 0; row < this.replicas; row++) {
        const at = this.cell_ms[row * this.columns + column];
        if (at !== NONE && at * 1000 < first) first = at * 1000;
      }
      return first;
    });
  }

  // What a root is compared with.
  get reference() { return this.hasOracle ? 'the oracle' : 'the chain'; }

  groupLegend() {
    const present = new Set(Array.from(this.cells, (value) => value & 7));
    const others = [2, 3, 4, 5, 6].filter((group) => present.has(group));
    return [
      ['c-g1', this.hasOracle ? 'root agrees with the oracle' : 'root of the chain (no oracle judged the run)'],
      ...others.map((group, i) => ['c-g' + group + ' crossed', `root or block differs from ${this.reference}${i ? ', root ' + (i + 1) : ''}`]),
      ...(present.has(7) ? [['c-g7', 'not compared: the oracle stopped at a difference']] : []),
    ];
  }

  rootOf(column) {
    const row = this.rows.findIndex((_, each) => (this.cells[each * this.columns + column] & 7) === 1 && this.cell_root[each * this.columns + column]);
    const found = row < 0 ? Array.from({ length: this.rows.length }, (_, each) => this.cell_root[each * this.columns + column]).find(Boolean) : this.cell_root[row * this.columns + column];
    return this.roots[found || 0];
  }

  cellText(at) {
    const value = this.cells[at], group = value & 7, root = this.roots[this.cell_root[at]];
    const parts = [group === 0 ? (value & 8 ? 'executed a block that was not final' : 'nothing known') : group === 1 ? 'agrees with ' + this.reference : group === 7 ? 'not compared with the oracle' : 'differs from ' + this.reference];
    if (root && group) parts.unshift('root ' + root);
    else if (group) parts[0] = at >= this.replicas * this.columns ? 'a root of its own, which is not the chain\'s' + (group === 7 ? '; not compared with the oracle' : '') : parts[0];
    if (group && value & 8) parts.push('executed, not final there');
    if (value & 16) parts.push('rolled back an executed block');
    if (value & 32) parts.push('rewound a block');
    if (value & 64) parts.push('executed again');
    return parts.join(', ');
  }

  // A block in words: of one row, or of all.
  blockText(column, row) {
    const last = this.heightOf(column) + this.perTile - 1, counted = (count, one) => `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`;
    const parts = [this.perTile > 1 ? `heights ${this.heightOf(column)} to ${last}` : `height ${this.heightOf(column)}`];
    parts.push(row === null || row === undefined ? 'root ' + (this.rootOf(column) || 'unknown') : this.cellText(row * this.columns + column));
    if (column < this.fact_proposer.length) {
      if (this.perTile === 1) parts.push('proposer ' + this.fact_proposer[column]);
      parts.push(counted(this.fact_transactions[column], 'transaction'), counted(this.fact_timers[column], 'timer') + ' fired or removed');
    }
    const at = row === null || row === undefined ? this.firstFinal[column] : this.cell_ms[row * this.columns + column] * 1000;
    if (Number.isFinite(at) && at < NONE * 1000) parts.push('final at ' + (at / 1e6).toFixed(3) + ' s');
    return parts.join(', ');
  }

  // The virtual time at which some replica first finalized (or executed) each height.
  firstTimes() {
    const times = new Map();
    for (const kind of ['finalized', 'executed']) {
      const number = this.kindOf.get(kind);
      for (let i = 0; i < this.count; i++) {
        if (this.mark_kind[i] === number && !times.has(this.mark_height[i])) times.set(this.mark_height[i], this.mark_at[i]);
      }
    }
    return times;
  }

  heightAt(t) {
    let found = null;
    for (const [height, at] of this.timeOf) if (at <= t && (found === null || height > found)) found = height;
    return found;
  }

  height(i) {
    if (this.mark_height[i] >= 0) return this.mark_height[i];
    const place = this.place.get(this.mark_block[i]);
    return place === undefined ? null : this.block_height[place];
  }

  // The event in words: for the list, the search and a screen reader.
  text(i) {
    let text = this.cache.get(i);
    if (text === undefined) {
      const parts = [this.kinds[this.mark_kind[i]], this.titles[this.mark_words[i]]];
      if (this.mark_view[i] >= 0) parts.push(this.viewWord + ' ' + this.mark_view[i]);
      if (this.mark_block[i] !== NONE) parts.push('block ' + this.digests[this.mark_block[i]]);
      text = parts.filter(Boolean).join(' ');
      this.cache.set(i, text);
    }
    return text;
  }

  // The heights at which, by the words of the drill-down, something happened to what a name stands for.
  heightsAbout(name) {
    if (this.aboutName === name) return this.about;
    this.aboutName = name;
    this.about = new Set();
    for (const line of name ? document.querySelectorAll(`.run[data-run="${this.index}"] ol.chain li`) : []) {
      if (line.textContent.toLowerCase().includes(name)) for (const found of line.textContent.matchAll(/\bheight (\d+)/g)) this.about.add(Number(found[1]));
    }
    return this.about;
  }

  isOfMarked(i) { return MESSAGE_KINDS.includes(this.kinds[this.mark_kind[i]]); }

  isOfBlock(i) { return ['executed', 'finalized'].includes(this.kinds[this.mark_kind[i]]); }

  who(i) { return this.mark_node[i] === 255 ? 'supervisor' : this.rows[this.mark_node[i]][0]; }
}

function seconds(t) { return (t / 1e6).toFixed(6).replace(/0{3}$/, '') + ' s'; }

// For columns, in which points stand below each other.
function exactly(t) { return (t / 1e6).toFixed(6); }
