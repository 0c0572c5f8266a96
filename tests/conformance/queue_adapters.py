"""Adapters for the introduction page: tiers, epochs, promotion, its priority queue (part E)."""

from scheduler import CalendarProfile, CalendarQueue, LaneConfig, RunOutcome, Tier, TimerConfig, TimerFired
from scheduler.gba_records import AuctionConfig
from tests.support.auction_bench import AuctionBench
from tests.support.lane_doubles import LaneBench
from tests.support.scheduler_doubles import Bench

ACTOR = b"\xaa" * 20


def profile_of(inputs):
    """Return the page's profile, or the case's."""
    return CalendarProfile(inputs.get("ring", 256), inputs.get("epoch_len", 360), inputs.get("epoch_horizon", 13))


def name_of(profile, height, now):
    tier = profile.tier_of(height, now, is_queued=profile.is_queued(height, now))
    if tier is None:
        return "reject"
    place = {Tier.RING: f"[{profile.place_of(height)}]", Tier.EPOCH: f"[{profile.epoch_of(height)}]"}
    return f"{tier}{place.get(tier, '')}"


def ring(inputs, system):
    return {"bucket": profile_of(inputs).place_of(inputs["height"])}


def ring_next(inputs, system):
    return [profile_of(inputs).place_of(block + 1) for block in inputs["blocks"]]


def tier(inputs, system):
    profile, found = profile_of(inputs), []
    for now, height in inputs["queries"]:
        found.append(name_of(profile, height, now))
        queue = CalendarQueue(profile, now)
        if height > now:
            queue.put(height, b"", is_queued=profile.is_queued(height, now))
            assert (list(queue.heights()), len(queue.overflow)) == ([height], int(found[-1] == "overflow"))
    return found


def epoch(inputs, system):
    return [profile_of(inputs).epoch_of(height) for height in inputs["heights"]]


def is_epoch_start(profile, height):
    return profile.epoch_of(height) != profile.epoch_of(height - 1)


def epoch_solve(inputs, system):
    found = []
    for length in range(1, inputs["start_of_epoch"] + 1):
        profile = CalendarProfile(1, length, 1)
        facts = all(profile.epoch_of(height) == number for height, number in inputs["facts"])
        if facts and is_epoch_start(profile, inputs["start_of_epoch"]):
            found.append(length)
    return found


def alias(inputs, system):
    buckets = [profile_of(inputs).place_of(height) for height in inputs["heights"]]
    return {"buckets": buckets, "same": len(set(buckets)) == 1}


def overflow(inputs, system):
    profile = profile_of(inputs)
    own, present = profile.epoch_of(inputs["height"]), profile.epoch_of(inputs["arrives_at"])
    return {
        "timer_epoch": own,
        "block_epoch": present,
        "is_epoch_start": is_epoch_start(profile, inputs["arrives_at"]),
        "distance_epochs": own - present,
    }


def promotion(inputs, system):
    """Return the tier in which a kept queue, moved block by block, holds the height, and since when."""
    profile, height, now = profile_of(inputs), inputs["height"], inputs["scheduled_at"]
    queue, found = CalendarQueue(profile, now), []
    queue.put(height, b"", is_queued=profile.is_queued(height, now))
    while True:
        if len(queue.overflow):
            name = "overflow"
        elif queue.epochs:
            name = f"epoch[{next(iter(queue.epochs))}]"
        else:
            name = f"ring[{profile.place_of(height)}]"
        if not found or found[-1][1] != name:
            found.append([now, name])
        now += 1
        if queue.advance(now).due:
            assert now == height
            return found


def page_lane(config, budget):
    """Return a lane by the page's profile, and what puts a timer into it."""
    own = LaneConfig(max_cycles_per_fire_auction_phase=budget, **LaneConfig.profiles["intro"])
    bench = LaneBench(config, own, basefee=800)
    bench.ledger.balances[ACTOR] = 10**18
    return bench, lambda due, tip, gas: bench.bid(ACTOR, due, fee=10**6, tip=tip, gas_limit=gas)[0].timer_id


def page_auction(config, budget):
    """Return a GBA auction by the page's profile, and what puts a timer into it."""
    bench = AuctionBench(config, AuctionConfig(**AuctionConfig.profiles["intro"]), cycle=800)
    bench.ledger.balances[ACTOR] = 10**18
    return bench, lambda due, tip, gas: bench.timer(ACTOR, due, fee=10**6, tip=tip, gas_limit=gas)


PAGES = page_lane, page_auction


def run_page(tips, gas, budget, block, page=page_lane):
    """Run one block of the page and return the bench, the timers' identifiers and the result."""
    config = TimerConfig(max_cells_per_fire=0, max_cycles_per_fire=budget, lane_timer_cycles=budget)
    bench, put = page(config, budget)
    bench.moment = bench.at(block - 1)
    names = [put(block, tip, gas) for tip in tips]
    return bench, names, bench.run(block, lambda timer: RunOutcome(True, timer.gas_limit, 0, ()))


def intro_pq(inputs, system):
    """The page's block, which both auctions have to run alike."""
    lane, auction = (page_block(inputs, page) for page in PAGES)
    assert lane == auction
    return lane


def page_block(inputs, page):
    tips = [tip for _, tip in inputs["timers"]]
    bench, names, result = run_page(tips, inputs["gas_each"], inputs["budget"], inputs["block"], page)
    label = {name: title for name, (title, _) in zip(names, inputs["timers"], strict=True)}
    left = [label[name] for name in names if name in bench.tables.timers]
    return {
        "executed": [label[event.timer_id] for event in result.events if event.__class__.__name__ == "TimerFired"],
        "rolled_over_to_1001": left,
        "cycles": result.lane_cycles,
        "bucket_1001": profile_of(inputs).place_of(inputs["block"] + 1),
    }


def intro_range(inputs, system):
    """The least and the greatest gas of each at which exactly that number fits, found by halving."""
    budget, fit = inputs["budget"], inputs["fit"]

    def fires(gas):
        return run_page(range(fit + 4), gas, budget, 1)[2].fired

    def first(wanted):
        """Return the least gas at which at most `wanted` fire."""
        low, high = 1, budget
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if fires(middle) <= wanted else (middle + 1, high)
        return low

    return [first(fit), first(fit - 1) - 1]


def rollover_pos(inputs, system):
    bench, label = Bench(TimerConfig(execution_lane_paused=True)), {}
    for due, key in ((5, "carried"), (6, "next_bucket")):
        for name in inputs[key]:
            label[bench.schedule(ACTOR, due)] = name
    bench.ledger.balances[ACTOR] = 10**18
    bench.run(5)
    lane, auction = (appended(inputs, page) for page in PAGES)
    assert lane == auction
    return {"recommended_front": [label[timer.timer_id] for timer in bench.tables.collect(6)], "page_append": lane}


def appended(inputs, page):
    """Return the order in which timers of one tip fire by the page's profile, some of them carried on."""
    bench, put = page(TimerConfig(max_cells_per_fire=0, execution_lane_paused=True), 250_000)
    label = {put(due, 1, 1_000): name for due, key in ((5, "carried"), (6, "next_bucket")) for name in inputs[key]}
    bench.run(5)
    bench.config = TimerConfig(max_cells_per_fire=0)
    return [label[event.timer_id] for event in bench.run(6).events if isinstance(event, TimerFired)]


ADAPTERS = {
    "ring": ring,
    "ring_next": ring_next,
    "tier": tier,
    "epoch": epoch,
    "epoch_solve": epoch_solve,
    "alias": alias,
    "overflow": overflow,
    "promotion": promotion,
    "intro_pq": intro_pq,
    "intro_range": intro_range,
    "rollover_pos": rollover_pos,
}
