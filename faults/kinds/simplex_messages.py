"""Groups of Simplex' messages that draws lose, delay or withhold together; drawn scenarios run Simplex only."""

from typing import Final

from validators.consensus.simplex import (
    CertificateResponse,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
)

VOTES: Final = (Notarize.traced_name,)
"""Votes for a block."""

LAST_VOTES: Final = (Finalize.traced_name,)
"""Votes for the finality of a block."""

LEAVING_VOTES: Final = (Nullify.traced_name,)
"""Votes to leave a view."""

LEAVING: Final = (*LEAVING_VOTES, Nullification.traced_name)
"""All messages by which validators leave a view."""

CERTIFIED: Final = (Notarization.traced_name,)
"""The certificate of a block before its finality."""

FINALITY: Final = (*LAST_VOTES, Finalization.traced_name)
"""All messages by which a block becomes final."""

BLOCK_CERTIFICATES: Final = (*CERTIFIED, Finalization.traced_name)
"""Certificates of blocks."""

ANSWERS: Final = (CertificateResponse.traced_name,)
"""Answers with a requested certificate."""
