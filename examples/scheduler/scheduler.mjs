// The timers' phase of the policies fifo and eip1559, with node, BigInt and no packages.
//
// Written from docs/ and the proposals alone, without a look at other implementations. It answers cases of the level
// `scheduler` (docs/fixtures.md) on standard input, one JSON object a line. Codes such as A-6 are those of
// docs/rules.md; `chain 4` and `spec 8` are steps of the timers' phase in docs/chain.md (fifo), docs/spec.md (eip1559).

import { createInterface } from "node:readline";

const LARGEST = 2n ** 63n - 1n;

const min = (...numbers) => numbers.reduce((a, b) => (b < a ? b : a));
const max = (...numbers) => numbers.reduce((a, b) => (b > a ? b : a));
const add = (counts, key, number) => counts.set(key, (counts.get(key) ?? 0n) + number);
const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Fractions are pairs of numerator and denominator, as ratios are in the cases; denominators are above zero.
const compare = ([a, b], [c, d]) => order(a * d, c * b);
const clip = (x, low, high) => (compare(x, low) < 0 ? low : compare(x, high) > 0 ? high : x);

// ---------------------------------------------------------------------------------------------- parts of both policies

// What a phase works on. The policy gives timers `gas`, `cost` (max_cost), `price` (burned per cycle), `tip`, `kind`.
function begin(input) {
  const { moment, limits } = input;
  const now = moment[moment.timebase];
  const before = moment.timebase === "slot" ? moment.parent_slot : moment.height - 1n; // the parent's present
  const balances = new Map(Object.entries(input.balances));
  for (const address of [input.proposer, ...input.timers.flatMap(({ actor, payer }) => [actor, payer])]) {
    if (!balances.has(address)) balances.set(address, 0n);
  }
  const due = input.timers.filter((timer) => timer.due <= now).map((timer) => ({ ...timer })); // in waiting order
  const budget = limits.gc_lane_paused ? 0n : limits.gc_cycles_per_block / limits.gc_cost_per_timer;
  const done = { removed: 0n, burned: 0n, cycles: 0n, cells: 0n, fires: [], events: [], asked: [] };
  const later = input.timers.filter((timer) => timer.due > now);
  return { ...input, ...done, now, before, balances, start: new Map(balances), due, later, budget };
}

const credit = (phase, address, units) => add(phase.balances, address, units);
const expired = (phase, timer) => timer.expires_at !== null && phase.now > timer.expires_at; // Q-21, strict
const maxCost = (phase, timer) =>
  timer.gas * (timer.price + timer.tip) + phase.limits.max_cells_per_fire * phase.basefees.cell;
const insolvent = (phase, timer) => phase.start.get(timer.payer) < timer.cost;

// A timer leaves on the clean-up's budget, in which the caller has found room.
function take(phase, timer) {
  timer.gone = true;
  phase.budget -= 1n;
  phase.removed += 1n;
}

// The clean-up destroys a dead timer.
function remove(phase, timer) {
  take(phase, timer);
  if (timer.kind === "expired") {
    phase.events.push({ event: "expired", timer: timer.id, expires_at: timer.expires_at });
  } else {
    // spec, "An insolvency's event": the balance of the start counts if it was too low, else the one of this moment.
    const available = insolvent(phase, timer) ? phase.start.get(timer.payer) : phase.balances.get(timer.payer);
    const required = min(timer.cost, LARGEST);
    phase.events.push({ event: "insolvent", timer: timer.id, payer: timer.payer, required, available });
  }
}

// A timer that is found dead is removed as far as the budget reaches; otherwise it waits as dead.
function find(phase, timer, kind) {
  Object.assign(timer, { kind, found: true });
  if (phase.budget > 0n) remove(phase, timer);
}

// The clean-up that looks at all dead timers, in waiting order (chain 3; spec, classification `eager`).
const isDead = ({ kind }) => kind === "expired" || kind === "insolvent";
const cleanUp = (phase) => phase.due.filter(isDead).forEach((timer) => find(phase, timer, timer.kind));

// Charge, run, burn, tip, refund, and only then the next. A failure pays its cycles and no cells.
function fire(phase, timer) {
  const { ok, cycles } = timer.handler;
  const cells = ok ? timer.handler.cells : 0n;
  const burned = cycles * timer.price + cells * phase.basefees.cell;
  const tip = cycles * timer.tip;
  const refund = timer.cost - burned - tip;
  timer.gone = true;
  credit(phase, timer.payer, refund - timer.cost);
  credit(phase, phase.proposer, tip);
  phase.burned += burned;
  phase.cycles += cycles;
  phase.cells += cells;
  phase.fires.push(timer);
  phase.events.push({ event: "fired", timer: timer.id, ok, cycles, cells, charged: timer.cost, burned, tip, refund });
}

// The turn of a timer that fits: it fires if it was solvent at the start and is solvent now (spec 8).
function settle(phase, timer) {
  if (insolvent(phase, timer) || phase.balances.get(timer.payer) < timer.cost) find(phase, timer, "insolvent");
  else fire(phase, timer);
}

// What is left: dead, or held for a reason. A timer is announced at its first attempt, then counted (chain 5, spec 9).
function report(phase) {
  const left = phase.due.filter((timer) => !timer.gone);
  const dead = left.filter((timer) => timer.kind === "expired" || timer.found);
  const counts = new Map(["lane_full", "over_cap", "below_basefee"].map((reason) => [reason, 0n]));
  for (const timer of left.filter((timer) => !dead.includes(timer))) {
    const reason = counts.has(timer.kind) ? timer.kind : "lane_full";
    add(counts, reason, 1n);
    if (timer.due > phase.before) phase.events.push({ event: "deferred", timer: timer.id, reason });
  }
  const held = [...counts].filter(([, count]) => count > 0n);
  if (held.length > 0) phase.events.push({ event: "summary", counts: held });
  return { live: BigInt(left.length - dead.length), dead: BigInt(dead.length) };
}

function answer(phase, price) {
  const waiting = report(phase);
  return {
    events: phase.events,
    balances: Object.fromEntries(phase.balances),
    burned: phase.burned,
    lane_use: { fired: BigInt(phase.fires.length), cycles: phase.cycles, cells: phase.cells, price },
    clean_up: { removed: phase.removed, cycles: phase.removed * phase.limits.gc_cost_per_timer },
    waiting,
    left: [...phase.due, ...phase.later].filter(({ gone }) => !gone).map(({ id }) => id),
  };
}

// ------------------------------------------------------------------------------------------------ fifo (chain, Timers)

function fifo(input) {
  const phase = begin(input);
  for (const timer of phase.due) {
    Object.assign(timer, { gas: timer.gas_limit, price: phase.basefees.cycle, tip: 0n });
    timer.cost = maxCost(phase, timer);
    timer.kind = fifoKind(phase, timer);
  }
  cleanUp(phase);
  if (!phase.limits.execution_lane_paused) {
    for (const timer of phase.due.filter(({ kind }) => kind === "candidate")) {
      if (timer.gas > phase.limits.lane_timer_cycles - phase.cycles) break; // a misfit blocks
      settle(phase, timer);
    }
  }
  return answer(phase, 0n);
}

function fifoKind(phase, timer) {
  if (expired(phase, timer)) return "expired";
  if (insolvent(phase, timer)) return "insolvent";
  return timer.gas > phase.limits.lane_timer_cycles ? "over_cap" : "candidate";
}

// ------------------------------------------------------------------------------------ eip1559 (spec, The timer phase)

function eip1559(input) {
  const phase = begin(input);
  const { own } = phase;
  phase.market = marketOf(phase);
  phase.price = lanePrice(phase);
  const recent = recentFires(phase);
  const weigh = weigher(phase, recent);
  for (const timer of phase.due) timer.gas = gasLimit(phase, timer);
  const answers = askAgents(phase);
  for (const timer of phase.due) {
    quote(phase, timer, answers.get(timer.id));
    timer.cost = maxCost(phase, timer);
    timer.kind = laneKind(phase, timer);
    timer.rank = effectivePriority(phase, timer, weigh(timer));
  }
  if (own.classification === "cursor") phase.cursor = walk(phase);
  else cleanUp(phase);
  if (own.excessive_delay === "cancel") cancelDelayed(phase);
  if (!phase.limits.execution_lane_paused) executionLane(phase);
  for (const timer of phase.fires) add(recent, subject(phase, timer), 1n);
  const cursor = phase.cursor ?? phase.lane.cursor;
  const lane = { market: nextMarket(phase), recent_fires: Object.fromEntries(recent), cursor };
  return { ...answer(phase, phase.price), ...(phase.asked.length > 0 && { asked: phase.asked }), lane };
}

// The record that the block before left, or that of the activation, with the window moved on.
function marketOf({ lane, own, moment, basefees }) {
  const first = own.initial_lane_basefee || basefees.cycle;
  const begun = { window_start: moment.activated_at, p50_tip: 0n, used_cycles: 0n, burned: 0n };
  const market = lane.market ?? { ...begun, basefee: first, activation_basefee: first };
  return { ...market, window_start: max(market.window_start, moment.height - own.fairness_window_blocks) };
}

// L (spec, Prices of a block; A-26): the parent fixed the basefee.
function lanePrice({ market, own, basefees }) {
  if (own.settlement === "intro") return min(basefees.cycle, 2n ** 62n - 1n); // E-6
  return min((market.basefee * own.lane_multiplier[0]) / own.lane_multiplier[1], 2n ** 62n - 1n);
}

// Whose fires are counted: the actor's, or its owner's.
const subject = ({ own, lane }, { actor }) => (own.fairness_subject === "deployer" ? lane.owners[actor] : actor);

// Fires by subject from window_start on.
function recentFires({ lane, market }) {
  const recent = new Map();
  for (const { height, fires } of lane.window) {
    if (height < market.window_start) continue;
    for (const [who, count] of Object.entries(fires)) add(recent, who, count);
  }
  return recent;
}

// Twice the median, so that halves stay whole.
function doubledMedian(numbers, how) {
  if (numbers.length === 0) return 0n;
  const sorted = [...numbers].sort(order), half = sorted.length >> 1;
  const upper = sorted[half], lower = sorted.length % 2 ? upper : sorted[half - 1];
  return how === "mean" ? lower + upper : 2n * (how === "lower" ? lower : upper);
}

// W = clip(2 - r / max(1, m), weight_min, weight_max), exactly (A-11, K-7).
function weigher(phase, recent) {
  const { own } = phase;
  const bottom = max(2n, doubledMedian([...recent.values()], own.median));
  const weight = (fires) => clip([2n * bottom - 2n * fires, bottom], own.weight_min, own.weight_max);
  return (timer) => weight(recent.get(subject(phase, timer)) ?? 0n);
}

const cap = ({ own, limits }) => min(own.max_cycles_per_fire_auction_phase, limits.lane_timer_cycles);
// A default limit is read anew in each block (K-5), so that it is never over the cap.
const gasLimit = (phase, timer) =>
  timer.gas_limit_is_default ? min(timer.gas_limit, phase.limits.max_cycles_per_fire, cap(phase)) : timer.gas_limit;
const overCap = (phase, timer) => timer.gas > cap(phase);

// Spec 4: the oldest timers that name an agent are asked, up to a number. Answers by timer, if valid.
function askAgents(phase) {
  const names = ({ quote, agent }) => quote && agent && !agent.is_default;
  const named = phase.due.filter((timer) => names(timer) && !expired(phase, timer) && !overCap(phase, timer));
  const many = Number(min(phase.own.max_gba_calls_per_block, BigInt(named.length)));
  const answers = new Map();
  for (const timer of named.slice(0, many)) {
    phase.asked.push({ timer: timer.id, context: context(phase, timer) });
    const { failure, numbers } = timer.agent;
    const reason = failure ?? (isBid(numbers) ? null : "absurd");
    if (reason === null) answers.set(timer.id, numbers);
    else phase.events.push({ event: "agent_failed", timer: timer.id, reason, count: 1n });
  }
  const rest = named.slice(many);
  if (rest.length > 0) {
    phase.events.push({ event: "agent_failed", timer: rest[0].id, reason: "call_limit", count: BigInt(rest.length) });
  }
  return answers;
}

const isBid = (numbers) =>
  numbers.length === 4 && numbers.every((each) => typeof each === "bigint" && each >= 0n && each <= LARGEST);

// What an agent is told (A-17; chain, Agents).
function context({ now, basefees, price, market, balances }, timer) {
  const told = [timer.due, now, basefees.cycle, basefees.cell, price, market.used_cycles, market.p50_tip];
  return [...told, balances.get(timer.actor)].map((each) => min(each, LARGEST));
}

// Spec 5: F and T are the record's, else the agent's, else the defaults; P = min(T, F - L).
function quote(phase, timer, agent) {
  const { market, price, own, basefees } = phase;
  const pending = { max_fee_per_cycle: 2n * market.activation_basefee, max_priority_fee_per_cycle: 0n };
  const stated = timer.quote ?? pending;
  const fee = stated.max_fee_per_cycle ?? agent?.[0] ?? 2n * price;
  const tip = stated.max_priority_fee_per_cycle ?? agent?.[1] ?? market.p50_tip;
  timer.eligible = fee >= price;
  timer.tip = min(tip, fee - price);
  timer.price = basefees.cycle + (own.settlement === "additive" ? price : 0n); // K-4
}

// P * W, or P + (W - 1) * L by `weight=additive`.
function effectivePriority({ own, price }, { tip }, [top, bottom]) {
  return own.weight === "additive" ? [tip * bottom + (top - bottom) * price, bottom] : [tip * top, bottom];
}

// Spec 6: the first class that applies.
function laneKind(phase, timer) {
  if (expired(phase, timer)) return "expired";
  if (overCap(phase, timer)) return "over_cap";
  if (!timer.eligible) return "below_basefee";
  return insolvent(phase, timer) ? "insolvent" : "candidate";
}

// classification `cursor`: once round from behind the cursor, until the budget or the scan is used up.
function walk(phase) {
  const { cursor } = phase.lane;
  const isBehind = ({ due, sequence }) => (order(due, cursor[0]) || order(sequence, cursor[1])) > 0;
  const behind = cursor ? phase.due.findIndex(isBehind) : 0;
  const round = behind > 0 ? [...phase.due.slice(behind), ...phase.due.slice(0, behind)] : phase.due;
  let last = cursor;
  for (const timer of round.slice(0, Number(phase.own.gc_scan_per_block))) {
    if (phase.budget === 0n) break;
    last = [timer.due, timer.sequence];
    if (isDead(timer)) remove(phase, timer);
  }
  return last;
}

const excessive = ({ own }, timer, at) => at - timer.due > own.max_allowed_delays;

// excessive_delay `cancel`: live timers leave, the clean-up's work is burned from what the payer has.
function cancelDelayed(phase) {
  for (const timer of phase.due) {
    if (isDead(timer) || timer.due > phase.before || !excessive(phase, timer, phase.now)) continue;
    if (phase.budget === 0n) return;
    take(phase, timer);
    const penalty = min(phase.limits.gc_cost_per_timer * phase.basefees.cycle, phase.balances.get(timer.payer));
    credit(phase, timer.payer, -penalty);
    phase.burned += penalty;
    const delays = phase.now - timer.due;
    phase.events.push({ event: "cancelled", timer: timer.id, payer: timer.payer, delays, penalty });
  }
}

// excessive_delay `force`: a timer whose delay has just become excessive stands ahead of all others.
const forced = (phase, timer) =>
  phase.own.excessive_delay === "force" &&
  excessive(phase, timer, phase.now) &&
  !excessive(phase, timer, phase.before);

const TIES = {
  id: (a, b) => order(a.id, b.id), // K-11
  age: (a, b) => order(a.due, b.due) || order(a.sequence, b.sequence),
  append: (a, b) => order(b.due, a.due) || order(a.sequence, b.sequence), // E-7
};

// Spec 8: by effective priority, greatest first, while they fit. Under `cursor` a timer that the clean-up
// has not found insolvent has a turn as well.
function executionLane(phase) {
  const stop = phase.own.packing_misfit === "stop";
  const competes = ({ kind, gone }) => !gone && (kind === "candidate" || kind === "insolvent");
  const waiting = phase.due.filter(competes);
  const first = waiting.filter((timer) => forced(phase, timer));
  const others = waiting.filter((timer) => !forced(phase, timer));
  others.sort((a, b) => compare(b.rank, a.rank) || TIES[phase.own.tie_break](a, b));
  for (const timer of [...first, ...others]) {
    if (stop && timer.kind === "insolvent") {
      find(phase, timer, "insolvent"); // spec 8: also if it does not fit; the walk goes on
      continue;
    }
    if (timer.gas > room(phase)) {
      if (stop) return;
      continue;
    }
    settle(phase, timer);
  }
}

// K-34: fires take of the lane what they used, or their gas limits.
const room = ({ own, limits, fires, cycles }) =>
  limits.lane_timer_cycles - (own.packing_account === "limit" ? fires.reduce((all, { gas }) => all + gas, 0n) : cycles);

// The basefee of the next block (spec, Prices of a block; ).
function nextBasefee({ own, limits, cycles, market: { basefee } }) {
  const [target, whole] = own.target_utilisation, lane = limits.lane_timer_cycles;
  const [top, bottom] = own.max_basefee_step;
  const x = [cycles * whole - lane * target, lane * target];
  const slope = own.slope === "classic" ? [x[0] * top, x[1] * bottom] : x;
  const [up, down] = clip(slope, [-top, bottom], [top, bottom]);
  if (up > 0n) return min(max(basefee + max((basefee * up) / down, 1n), own.min_lane_basefee), own.max_lane_basefee);
  return max(basefee - (basefee * -up) / down, own.min_lane_basefee);
}

// Spec 10: what the block leaves to the next one.
function nextMarket(phase) {
  const { market, own, price, fires, cycles } = phase;
  return {
    ...market,
    basefee: nextBasefee(phase),
    p50_tip: doubledMedian(fires.map(({ tip }) => tip), own.median) / 2n,
    used_cycles: cycles,
    burned: market.burned + (own.settlement === "additive" ? cycles * price : 0n),
  };
}

// -------------------------------------------------------------------------------------------------------------- frames

// Identifiers and addresses have 40 or 64 digits, so that shorter text of digits alone is a number.
const read = (_, value) => {
  if (typeof value === "number") return BigInt(value);
  return typeof value === "string" && /^-?\d{1,39}$/.test(value) ? BigInt(value) : value;
};
const write = (_, value) => {
  if (typeof value !== "bigint") return value;
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);
};

const POLICIES = { fifo, eip1559 };

function reply(ask) {
  if (ask.call === "hello") return { name: "scheduler.mjs", version: "1", features: [] };
  if (ask.call === "bye") return {};
  if (ask.call !== "scheduler") return { error: `unknown call ${ask.call}` };
  const policy = POLICIES[ask.case.policy];
  return policy ? { answer: policy(ask.case) } : { error: `unknown policy ${ask.case.policy}` };
}

for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line, read);
  process.stdout.write(JSON.stringify({ n: ask.n, ...reply(ask) }, write) + "\n");
}
