"""The names of a storm's timers before they are scheduled: owners and governance cancel by these names."""

from cluster.workloads.submission import Site
from scheduler import DEFAULT_HANDLER, MAX_U63, Quote, Timer, timer_id_of
from scheduler.aptos_keys import map_key, price_of, transaction_bytes, transaction_id
from scheduler.aptos_records import AptosConfig, Token
from validators.actors import StormOrder, storm_due, storm_payload


def storm_timer_name(site: Site, actor: bytes, order: StormOrder, index: int, *, nonce: int, counter: int) -> bytes:
    """Return the result of scheduling an order's timer, if the order is executed before `not_before`.

    Its last 32 bytes are the timer's identifier.

    Args:
        site: The workload's surroundings.
        actor: The storm maker.
        order: The order.
        index: The timer's place in it.
        nonce: The nonce of the order's transaction.
        counter: How many timers the actor has already scheduled.
    """
    if site.queue is None:
        due, payload = storm_due(order, index, order.not_before), storm_payload(order, index)
        return timer_id_of(actor, due, payload, nonce, counter=counter)
    body = _body(site, site.queue, actor, order, index=index)
    txn_id = transaction_id(storm_entry(site, site.queue, actor, order, index=index, counter=counter))
    return map_key(body.due * site.slot_ms, price_of(body), txn_id)


def storm_entry(
    site: Site, own: AptosConfig, actor: bytes, order: StormOrder, *, index: int = 0, counter: int = 0
) -> bytes:
    """Return the bytes of an order's scheduled transaction, if the order is executed before `not_before`."""
    return transaction_bytes(
        _body(site, own, actor, order, index=index),
        slot_ms=site.slot_ms,
        counter=counter if own.counts_ids else 0,
        expiry_delta_ms=(order.ttl + 1) * site.slot_ms - 1 if own.expiry == "at_run" else None,
        token=first_token(own),
    )


def _body(site: Site, own: AptosConfig, actor: bytes, order: StormOrder, *, index: int) -> Timer:
    """Return the body of an order's entry, without its identifier."""
    price = order.terms.max_fee_per_cycle
    gas = order.gas_limit or site.config.max_cycles_per_fire
    quote = Quote(own.min_price if price is None else price, 0)
    return Timer(
        timer_id=b"",
        actor=actor,
        due=storm_due(order, index, order.not_before),
        sequence=0,
        payload=storm_payload(order, index),
        handler=DEFAULT_HANDLER,
        fee_payer=actor,
        gas_limit=gas,
        gas_limit_is_default=False,
        expires_at=0,
        quote=quote,
    )


def first_token(own: AptosConfig) -> Token | None:
    """Return the token of an actor's insertions before it raises its number; None without authorization."""
    return None if own.authorization == "none" else Token(own.token_reschedules, MAX_U63, 1)


def ids_problem(site: Site) -> str:
    """Return why identifiers are not known in advance; empty if they are."""
    own = site.queue
    if own is None or own.authorization == "none" or not own.token_lifetime_ms:
        return ""
    return "no identifier is known in advance where chain.policy_parameters.token_lifetime_ms is above 0"
