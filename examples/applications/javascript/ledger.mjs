// A ledger with timers that expire: an outside application of Stampede, with node and no packages.
//
// A transaction is text: `pay FROM TO AMOUNT`, or `remind NAME AFTER`, which pays NAME one unit after so many slots.
// A block first serves the timers that are due, oldest first: a live one fires, one that is more than TTL slots late is
// dead and is removed. Both have a budget for each block.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const TTL = 20, LIVE = 50, DEAD = 200;
const FEATURES = ["check", "forks", "early", "snapshot", "restore", "entries", "describe", "transactions"];

const hex = (text) => Buffer.from(text).toString("hex");
const unhex = (text) => Buffer.from(text, "hex").toString();
const sha256 = (data) => createHash("sha256").update(data).digest();

// One text for one state: names in ascending order, timers in that of their setting.
const encode = (state) => JSON.stringify([Object.entries(state.balances).sort(), state.timers, state.set]);
const decode = (text) => {
  const [balances, timers, set] = JSON.parse(text);
  return { balances: Object.fromEntries(balances), timers, set };
};
const rootOf = (state) => sha256(encode(state)).toString("hex");

function parse(transaction) {
  const words = unhex(transaction).split(" ");
  if (words[0] === "pay" && words.length === 4 && /^\d{1,9}$/.test(words[3])) return words;
  if (words[0] === "remind" && words.length === 3 && /^\d{1,6}$/.test(words[2])) return words;
  return null;
}

function run(before, header, payload) {
  const state = decode(encode(before)), now = header.slot, events = [], left = { live: LIVE, dead: DEAD };
  const due = state.timers.filter((each) => each.due <= now).sort((a, b) => a.due - b.due || a.number - b.number);
  for (const timer of due) {
    const id = String(timer.number), kind = now > timer.due + TTL ? "dead" : "live";
    if (left[kind] === 0) {
      if (!timer.deferred) events.push({ event: "timer-deferred", timer: id });
      timer.deferred = true;
      continue;
    }
    left[kind] -= 1;
    state.timers.splice(state.timers.indexOf(timer), 1);
    if (kind === "dead") {
      events.push({ event: "timer-removed", timer: id, why: "expired" });
    } else {
      state.balances[timer.name] = (state.balances[timer.name] ?? 0) + 1;
      events.push({ event: "timer-fired", timer: id });
    }
  }
  for (const transaction of payload) {
    const words = parse(transaction);
    if (words === null) return { invalid: `${transaction} is no transaction` };
    if (words[0] === "pay") {
      const amount = Math.min(Number(words[3]), state.balances[words[1]] ?? 0);
      state.balances[words[1]] = (state.balances[words[1]] ?? 0) - amount;
      state.balances[words[2]] = (state.balances[words[2]] ?? 0) + amount;
    } else {
      const timer = { number: ++state.set, due: now + Math.max(1, Number(words[2])), name: words[1], deferred: false };
      state.timers.push(timer);
      events.push({ event: "timer-set", timer: String(timer.number), due: timer.due });
    }
  }
  return { state, events };
}

const blocks = new Map(); // id -> { parent, height, state }: the last final block, and all that are executed above it
let place = "", proposed = null;

const drop = (isGone) => {
  // Lower ones first: a block is gone with its parent.
  for (const [id, block] of [...blocks].sort((a, b) => a[1].height - b[1].height)) if (isGone(id, block)) blocks.delete(id);
};

function keep(id) {
  const kept = { id, ...blocks.get(id) }, above = new Set([id]);
  drop((each, block) => !(above.has(each) || (above.has(block.parent) && above.add(each))));
  writeFileSync(`${place}/next`, JSON.stringify(kept));
  renameSync(`${place}/next`, `${place}/final`);
}

const calls = {
  hello(ask) {
    place = ask.directory;
    const said = { name: "ledger", version: "1", features: FEATURES, order: "fifo" };
    Object.assign(said, { dead_per_block: DEAD, live_per_block: LIVE });
    if (!ask.resume) return said;
    if (!existsSync(`${place}/final`)) return { ...said, height: null };
    const { id, ...block } = JSON.parse(readFileSync(`${place}/final`, "utf8"));
    blocks.set(id, block);
    return { ...said, height: block.height, id, root: rootOf(block.state) };
  },
  genesis() {
    proposed = { balances: { alice: 1_000_000_000 }, timers: [], set: 0 };
    return { root: rootOf(proposed), events: [] };
  },
  adopted({ id, header }) {
    if (!blocks.has(id)) blocks.set(id, { parent: header.parent, height: header.height, state: proposed });
    if (header.height === 0) keep(id);
  },
  check: ({ transaction }) => (parse(transaction) ? { ok: true } : { refused: "it is no transaction" }),
  propose({ parent, header, transactions }) {
    const payload = transactions.filter(parse), { state, events } = run(blocks.get(parent).state, header, payload);
    proposed = state;
    const refused = [...transactions.keys()].filter((index) => parse(transactions[index]) === null);
    return { payload, root: rootOf(state), events, refused };
  },
  execute({ id, parent, header, payload }) {
    const { state, events, invalid } = run(blocks.get(parent).state, header, payload);
    if (invalid) return { invalid };
    blocks.set(id, { parent, height: header.height, state });
    return { root: rootOf(state), events };
  },
  finalize: ({ id }) => keep(id),
  drop({ id }) {
    const gone = new Set([id]);
    drop((each, block) => gone.has(each) || (gone.has(block.parent) && gone.add(each)));
  },
  // Every block has a state of its own, so there is nothing to apply and nothing to rewind.
  apply() {},
  rewind() {},
  snapshot({ id, piece }) {
    const content = hex(encode(blocks.get(id).state)), size = 2_000;
    if (piece === undefined) return { pieces: Math.ceil(content.length / size) };
    return { bytes: content.slice(piece * size, (piece + 1) * size) };
  },
  restore({ id, header, piece, of, bytes }) {
    proposed = (piece === 0 ? "" : proposed) + bytes;
    if (piece < of - 1) return;
    const state = decode(unhex(proposed));
    blocks.set(id, { parent: header.parent, height: header.height, state });
    keep(id);
    return { root: rootOf(state) };
  },
  entries({ id, after, limit }) {
    const { balances, timers } = blocks.get(id).state;
    const pairs = Object.entries(balances).map(([name, amount]) => [hex(`balance ${name}`), hex(String(amount))]);
    for (const timer of timers) {
      pairs.push([hex(`timer ${String(timer.number).padStart(9, "0")}`), hex(JSON.stringify(timer))]);
    }
    return { entries: pairs.sort().filter(([key]) => key > after).slice(0, limit) };
  },
  describe: ({ key, value }) => ({ text: `${unhex(key)}: ${unhex(value)}` }),
  transactions({ count, chance }) {
    const made = [];
    for (let number = 0; number < count; number++) {
      const drawn = sha256(`${chance} ${number}`), name = ["bob", "carol", "dave"][drawn[0] % 3], amount = 1 + (drawn[1] % 30);
      made.push(hex(drawn[2] % 2 ? `pay alice ${name} ${amount}` : `remind ${name} ${amount}`));
    }
    return { transactions: made };
  },
  bye() {},
};

for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line);
  process.stdout.write(JSON.stringify({ n: ask.n, ...calls[ask.call](ask) }) + "\n");
}
