// Executed blocks: height to the right, forks below the chain, reorganizations as arcs.
function treePane(run, root) {
  const box = root.querySelector('[data-pane=tree]');
  const canvas = box.querySelector('canvas');
  const WIDE = 18, DEEP = 30, TOP = 44;
  const least = run.block_height.length ? run.block_height[0] : 1;
  const most = run.block_height.length ? run.block_height[run.block_height.length - 1] : 1;
  const wide = (most - least + 2) * WIDE + 20;
  const spacer = document.createElement('div');
  spacer.style.width = wide + 'px'; spacer.style.height = '1px';
  box.append(spacer);
  box.addEventListener('scroll', announce);
  // Asked once a picture: the browser may lay the page out for each answer.
  let left = 0;
  const X = (place) => (run.block_height[place] - least + 1) * WIDE - left;
  const Y = (place) => TOP + run.block_row[place] * DEEP;

  function draw() {
    const width = box.clientWidth, about = run.heightsAbout(named());
    left = box.scrollLeft;
    const high = TOP + run.treeRows * DEEP + 6;
    const pen = sized(canvas, width, high);
    const is_seen = (place) => X(place) > -40 && X(place) < width + 40;
    pen.lineWidth = 1.5;
    for (let place = 0; place < run.block_number.length; place++) {
      if (!is_seen(place)) continue;
      const parent = run.place.get(run.block_parent[place]);
      if (parent === undefined) continue;
      pen.strokeStyle = run.block_final[place] ? colours.g1 : colours.g7;
      pen.beginPath(); pen.moveTo(X(parent), Y(parent)); pen.lineTo(X(place), Y(place)); pen.stroke();
    }
    const drawn = new Map();
    for (const [, , number, low, depth, what] of run.arcs) {
      const place = run.place.get(number), key = number + what;
      drawn.set(key, { place, low, depth, what, times: (drawn.get(key) || { times: 0 }).times + 1 });
    }
    const labels = [];
    for (const { place, low, depth, what, times } of drawn.values()) {
      if (place === undefined) continue;
      const to = (low - least) * WIDE - left;
      // A deep one is wider than the window: it is drawn as long as any part of it is there.
      if (X(place) < -40 || to > width + 40) continue;
      pen.strokeStyle = what === 'undone' ? colours.g3 : colours.fg; pen.setLineDash([3, 3]);
      pen.beginPath(); pen.moveTo(X(place), Y(place) - 7); pen.bezierCurveTo(X(place), 14, to, 14, to, TOP - 8); pen.stroke(); pen.setLineDash([]);
      const text = `${what} by ${times}, depth ${depth}`;
      const at = Math.max(2, Math.min(X(place) + 8, width - pen.measureText(text).width - 6));
      const line = labels.filter((other) => Math.abs(other.at - at) < 150).length;
      labels.push({ at, line, text });
    }
    for (let place = 0; place < run.block_number.length; place++) {
      if (!is_seen(place)) continue;
      const height = run.block_height[place], is_refused = run.refusals[run.block_number[place]];
      pen.beginPath(); pen.arc(X(place), Y(place), 5, 0, 7);
      pen.fillStyle = run.block_final[place] ? colours.g1 : colours.bg; pen.fill();
      pen.strokeStyle = is_refused ? colours.bad : run.block_final[place] ? colours.g1 : colours.g7; pen.lineWidth = 2; pen.stroke();
      if (about.has(height)) { pen.strokeStyle = colours.fg; pen.beginPath(); pen.arc(X(place), Y(place), 8, 0, 7); pen.stroke(); }
      if (height === state.h) { pen.strokeStyle = colours.sel; pen.beginPath(); pen.arc(X(place), Y(place), 9, 0, 7); pen.stroke(); }
    }
    // Words last and on a ground of their own, so that no arc and no branch runs through them.
    for (let place = 0; place < run.block_number.length; place++) {
      if (is_seen(place) && run.block_row[place] === 0 && run.block_height[place] % 10 === 0) worded(pen, String(run.block_height[place]), X(place), TOP + 14, colours.dim, 'center');
    }
    for (const { at, line, text } of labels) if (line < 3) worded(pen, text, at, 8 + 11 * line, colours.fg, 'left');
    const now = state.t === null ? null : run.heightAt(state.t);
    if (now !== null) { pen.fillStyle = colours.sel; pen.fillRect((now - least + 1) * WIDE - left - 1, high - 6, 3, 6); }
    canvas.dataset.cursor = String(now);
  }

  function reveal(height) {
    const x = (height - least + 1) * WIDE;
    if (x < box.scrollLeft || x > box.scrollLeft + box.clientWidth - WIDE) box.scrollLeft = x - box.clientWidth / 2;
  }

  function nearest(event) {
    const [px, py] = place(event, canvas);
    let best = null, distance = 14;
    for (let each = 0; each < run.block_number.length; each++) {
      const d = Math.hypot(X(each) - px, Y(each) - py);
      if (d < distance) { distance = d; best = each; }
    }
    return best;
  }

  // The certificates that the log has of each block, in words; asked only when a person looks.
  let known = null;
  function certificates(number) {
    if (!known) {
      known = new Map();
      for (let i = 0; i < run.count; i++) {
        if (run.kinds[run.mark_kind[i]] !== 'certificate' || run.mark_block[i] === NONE) continue;
        known.set(run.mark_block[i], (known.get(run.mark_block[i]) || new Set()).add(run.titles[run.mark_words[i]]));
      }
    }
    return [...(known.get(number) || [])].sort().join(', ') || 'no certificate';
  }

  const words = (each) => `block ${run.digests[run.block_number[each]]}, height ${run.block_height[each]}, ${run.viewWord} ${run.block_view[each]}, by ${run.block_proposer[each]}${run.block_final[each] ? ', final' : ', not final'}, ${certificates(run.block_number[each])}${run.refusals[run.block_number[each]] ? ', refused: ' + run.refusals[run.block_number[each]] : ''}`;
  canvas.addEventListener('click', (event) => { const found = nearest(event); if (found !== null) selectHeight(run, run.block_height[found]); });
  canvas.addEventListener('mousemove', (event) => { const found = nearest(event); canvas.title = found === null ? '' : words(found); });
  tableOnDemand(root, 'tree', () => table(['height', run.viewWord, 'leader', 'digest', 'parent', 'final', 'certificates', 'refused'], Array.from(run.block_number, (number, each) => [
    run.block_height[each], run.block_view[each], run.block_proposer[each], run.digests[number], run.digests[run.block_parent[each]] || '', run.block_final[each] ? 'yes' : 'no', certificates(number), run.refusals[number] || '',
  ])));
  return { draw, reveal };
}
