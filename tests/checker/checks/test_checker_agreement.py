"""One history: a final block, root, write or vote that differs fails exactly the check that guards it."""

import pytest
from msgspec import structs

from checker.checks.rules.simplex_votes import VOTE_OF
from checker.tables import BURNED_KEY
from network.events import Event
from tests.support.checker_history import (
    SKIPPED_VIEW,
    VIEWS,
    assert_only,
    digest_of,
    failing,
    pack,
    planned,
    write_history,
)
from validators.execution.blocks import decode_block, encode_block


class TestAgreement:
    def test_two_final_blocks_at_one_height_fail(self):
        """Two digests at one height are named with both validators."""
        history = write_history()
        place = history.position(3, "finalized", 4)
        history.replace(place, 4, 5, digest_of("other"), digest_of("other root"))

        assert_only(history.judge(), "agreement", "height 4", "validator 0", "validator 3")

    def test_a_block_on_another_parent_fails(self):
        """A final block must be a child of the final block below it."""
        results = planned(lambda plans: setattr(plans[3], "parent", digest_of("stranger")))

        assert_only(results, "agreement", "height 3", "on parent")

    def test_a_digest_that_is_not_the_blocks_fails(self):
        """The applied bytes must be those that the digest names."""
        history = write_history()
        block = decode_block(history.blocks[4].block)
        other = encode_block(structs.replace(block, header=structs.replace(block.header, proposer=1)))
        history.alter_applied(2, 4, block=other)

        assert_only(history.judge(), "agreement", "validator 2", "has digest")

    def test_a_view_that_does_not_ascend_fails(self):
        """The final blocks of a validator are from ascending views."""
        history = write_history()
        block = history.blocks[4]
        history.replace(history.position(3, "finalized", 4), 4, 3, block.digest, block.root)

        assert_only(history.judge(), "agreement", "validator 3", "expected a view after 3")

    def test_bytes_that_are_no_block_fail_and_raise_nothing(self):
        """Garbage from a validator is a finding, not a crash of the checker."""
        history = write_history()
        history.alter_applied(2, 4, block=b"\x93\x01")

        assert_only(history.judge(), "agreement", "validator 2", "no block")

    def test_a_skipped_height_fails(self):
        """A validator finalizes every height in turn."""
        history = write_history()
        del history.steps[history.position(2, "finalized", 3)]

        assert_only(history.judge(), "agreement", "validator 2", "height 4", "expected height 3")

    def test_a_restart_below_what_was_finalized_fails(self):
        """A block that a validator reported as final survives its crash."""
        history = write_history()
        history.replace(history.position(1, "boot"), 1, 3, 1, history.blocks[1].root)

        assert_only(history.judge(), "agreement", "validator 1 restarted at finalized height 1 after 2")

    def test_a_restart_above_what_was_said_passes(self):
        """Blocks may be on the disk, synced, whose finality the validator had no time to announce."""
        history = write_history()
        del history.steps[history.position(1, "finalized", 2)]

        assert failing(history.judge()) == []

    def test_a_cluster_of_one_claims_no_agreement(self):
        """The result names the comparison that was made: its own blocks, parent by parent."""
        history = write_history()
        history.honest = (0,)
        summary = history.judge()["agreement"].summary

        assert summary.startswith("4 blocks of 1 validator are linked")
        assert "agree" not in summary


class TestEqualRoots:
    def test_another_root_for_the_same_block_fails(self):
        """A speculative execution that differs is named with validator and height."""
        history = write_history()
        block = history.blocks[2]
        history.replace(history.position(3, "executed", 2), 2, 2, block.digest, digest_of("wrong"), "verify")

        assert_only(history.judge(), "equal-roots", "height 2", "validator 3")

    def test_a_losing_block_is_compared_too(self):
        """Blocks that never become final must have one root as well."""
        history = write_history()
        place = history.position(2, "executed", 4, SKIPPED_VIEW)
        history.replace(place, 4, SKIPPED_VIEW, digest_of("loser"), digest_of("wrong"), "verify")

        assert_only(history.judge(), "equal-roots", "height 4", "validator 2")

    def test_other_receipts_with_the_same_root_fail(self):
        """A validator that comes to the root of a block, and refuses it, has found other receipts."""
        history = write_history()
        block = history.blocks[2]
        history.replace(history.position(3, "executed", 2), 2, 2, block.digest, block.root, "diverged")
        result = history.judge()["equal-roots"]

        assert result.status == "failed"
        assert "the receipts of validator 3 are not those of the header" in result.summary

    def test_another_root_after_a_restart_fails(self):
        """The root recomputed from the disk is that of the final block."""
        history = write_history()
        history.replace(history.position(1, "boot"), 1, 3, 2, digest_of("wrong"))

        assert_only(history.judge(), "equal-roots", "height 2", "validator 1")

    def test_a_root_that_is_not_the_headers_fails(self):
        """An applied block must have the values that its header promises."""
        history = write_history()
        history.alter_applied(2, 4, root=digest_of("wrong"))

        assert_only(history.judge(), "equal-roots", "height 4", "validator 2")

    def test_a_header_with_another_root_than_all_validators_have_fails(self):
        """Validators that agree among themselves are still held against the header."""
        results = planned(lambda plans: setattr(plans[4], "root", digest_of("what all have")))

        assert_only(results, "equal-roots", "height 4")

    def test_one_root_for_two_final_blocks_fails(self):
        """At one final height equal roots mean equal blocks."""
        history = write_history()
        block = history.blocks[4]
        history.replace(history.position(3, "finalized", 4), 4, 5, digest_of("other"), block.root)

        results = history.judge()

        assert failing(results) == ["agreement", "equal-roots"]
        assert "both final with root" in results["equal-roots"].summary


class TestWriteSets:
    def test_another_write_fails_with_validator_and_key(self):
        """A single differing value is named with its table and both values."""
        history = write_history()
        history.alter_applied(3, 2, changes={**history.blocks[2].changes, BURNED_KEY: pack(6)})

        assert_only(history.judge(), "write-sets", "height 2", "burned, total: [total=5]", "[total=6] on validator 3")

    def test_other_receipts_fail(self):
        """Receipts are compared to the byte."""
        history = write_history()
        history.alter_applied(1, 3, receipts=history.blocks[3].receipts[:2])

        assert_only(history.judge(), "write-sets", "height 3", "receipt 2")

    def test_receipts_that_the_header_does_not_commit_to_fail(self):
        """Validators that agree on receipts are still held against the header."""
        results = planned(lambda plans: setattr(plans[3], "receipts_root", digest_of("other")))

        assert_only(results, "write-sets", "height 3", "not those of the header")


class TestNoDoubleVote:
    @pytest.mark.parametrize("kind", ["notarize", "finalize"])
    def test_two_payloads_in_one_view_fail(self, kind):
        """Two votes of one kind for different payloads are named with validator and view."""
        history = write_history()
        history.add(2, "vote", kind, 3, digest_of("other"))

        assert_only(history.judge(), "no-double-vote", "validator 2", kind, "view 3")

    def test_nullify_and_finalize_of_one_view_fail(self):
        """A view is given up or finalized by a validator, never both."""
        history = write_history()
        history.add(0, "vote", "nullify", 2, b"")

        assert_only(history.judge(), "no-double-vote", "validator 0", "view 2")

    def test_the_same_vote_again_passes(self):
        """A restarted validator may send again what it had sent."""
        history = write_history()
        history.add(1, "vote", "notarize", 2, history.blocks[2].digest)

        assert failing(history.judge()) == []

    def test_notarize_then_nullify_passes(self):
        """Giving up a view that one has notarized is allowed."""
        history = write_history()
        history.add(1, "vote", "notarize", SKIPPED_VIEW, digest_of("loser"))

        assert failing(history.judge()) == []


class TestCertificates:
    def test_too_few_signers_fail(self):
        """A certificate needs a quorum of different signers; naming one twice does not help."""
        history = write_history()
        history.add(0, "certificate", "finalization", 5, history.blocks[4].digest, [0, 1, 1])

        assert_only(history.judge(), "certificates", "2 different signers", "a quorum is 3")

    def test_a_signer_that_never_voted_fails(self):
        """An honest signer other than the holder must have sent the vote."""
        history = write_history()
        del history.steps[history.position(2, "vote", "finalize", 3)]

        assert_only(history.judge(), "certificates", "view 3", "validator 2", "never sent")

    def test_the_holders_own_vote_may_be_unsent(self):
        """A validator that crashes before sending its vote may have counted it already."""
        history = write_history()
        del history.steps[history.position(3, "vote", "finalize", 3)]
        digest = history.blocks[3].digest
        history.replace(history.position(3, "certificate", "finalization", 3), "finalization", 3, digest, [0, 1, 3])

        assert failing(history.judge()) == []

    @pytest.mark.parametrize("kind", ["notarization", "finalization"])
    def test_two_payloads_of_one_view_fail(self, kind):
        """No two payloads are notarized, or finalized, in one view, by any signers."""
        history = write_history()
        history.honest = (0, 1)  # validators 2 and 3 sign everything
        for node, name in ((0, "one"), (1, "other")):
            history.add(node, "vote", VOTE_OF[kind], 9, digest_of(name))
            history.add(node, "certificate", kind, 9, digest_of(name), [node, 2, 3])

        assert_only(history.judge(), "certificates", f"view 9 has two {kind}s")

    def test_finalization_and_nullification_of_one_view_fail(self):
        """A view cannot be both."""
        history = write_history()
        history.honest = (0, 1)
        history.add(0, "vote", "finalize", 9, digest_of("one"))
        history.add(1, "vote", "nullify", 9, b"")
        history.add(0, "certificate", "finalization", 9, digest_of("one"), [0, 2, 3])
        history.add(1, "certificate", "nullification", 9, b"", [1, 2, 3])

        assert_only(history.judge(), "certificates", "view 9 is both finalized and nullified; validators 2, 3 signed")

    def test_another_payload_finalized_than_notarized_fails(self):
        """The payload finalized in a view is the one notarized in it."""
        history = write_history()
        history.honest = (0, 1)
        history.add(0, "vote", "finalize", 9, digest_of("one"))
        history.add(1, "vote", "notarize", 9, digest_of("other"))
        history.add(0, "certificate", "finalization", 9, digest_of("one"), [0, 2, 3])
        history.add(1, "certificate", "notarization", 9, digest_of("other"), [1, 2, 3])

        assert_only(history.judge(), "certificates", "view 9 is finalized with", "and notarized with")

    def test_a_kind_that_does_not_exist_fails(self):
        """An unknown certificate is a finding, not a crash."""
        history = write_history()
        history.add(0, "certificate", "absolution", 9, b"", [0, 1, 2])

        assert_only(history.judge(), "certificates", "absolution")

    def test_a_skipped_view_that_is_finalized_fails(self):
        """No view between a final block and its parent is final itself."""
        history = write_history()
        history.steps = [
            step
            for step in history.steps
            if not (isinstance(step, Event) and step.kind == "vote" and step.values[1] == SKIPPED_VIEW)
            and not (isinstance(step, Event) and step.kind == "certificate" and step.values[1] == SKIPPED_VIEW)
        ]
        for node in (0, 1, 2):
            history.add(node, "vote", "finalize", SKIPPED_VIEW, digest_of("one"))
        history.add(0, "certificate", "finalization", SKIPPED_VIEW, digest_of("one"), [0, 1, 2])

        assert_only(history.judge(), "certificates", "skips view 4, which is finalized")

    def test_a_skipped_view_without_nullification_fails(self):
        """A final block may skip only views that were nullified."""
        history = write_history()
        history.steps = [
            step
            for step in history.steps
            if not (isinstance(step, Event) and step.kind == "certificate" and step.values[0] == "nullification")
        ]

        assert_only(history.judge(), "certificates", "height 4", "skips view 4", "no quorum nullified")

    def test_a_final_block_that_somebody_refused_to_certify_fails(self):
        """Be it refused before or after it became final."""
        history = write_history()
        history.add(2, "uncertified", VIEWS[3], history.blocks[3].digest)

        assert_only(history.judge(), "certificates", "validator 2 refused to certify", "of view 3, which is final")

    def test_a_block_that_is_not_final_may_be_refused(self):
        """The branch that it is on was left."""
        history = write_history()
        history.add(2, "uncertified", SKIPPED_VIEW, digest_of("left"))

        assert history.judge()["certificates"].status == "passed"
