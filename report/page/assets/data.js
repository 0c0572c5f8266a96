// The data of a run: one deflated block of typed arrays, read by the browser's own decompression.
const NONE = 0xFFFFFFFF;

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

  // The heights at which, by the words of pane 3, something happened to what a name stands for.
  heightsAbout(name) {
    if (this.aboutName === name) return this.about;
    this.aboutName = name;
    this.about = new Set();
    for (const line of name ? document.querySelectorAll(`.run[data-run="${this.index}"] ol.chain li`) : []) {
      if (line.textContent.toLowerCase().includes(name)) for (const found of line.textContent.matchAll(/\bheight (\d+)/g)) this.about.add(Number(found[1]));
    }
    return this.about;
  }

  isOfBlock(i) { return ['executed', 'finalized'].includes(this.kinds[this.mark_kind[i]]); }

  who(i) { return this.mark_node[i] === 255 ? 'supervisor' : this.rows[this.mark_node[i]][0]; }
}

function seconds(t) { return (t / 1e6).toFixed(6).replace(/0{3}$/, '') + ' s'; }

// For columns, in which points stand below each other.
function exactly(t) { return (t / 1e6).toFixed(6); }
