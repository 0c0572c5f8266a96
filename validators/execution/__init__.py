"""Execution: blocks and their transactions, the state they change, the engine that runs, finalizes and drops them."""

from validators.execution.block_tree import ApplyMode, BrokenOff, Executed
from validators.execution.blocks import (
    Block,
    ExecuteActor,
    Header,
    SystemCancelTimer,
    SystemExtendTimer,
    SystemUpdateTimerConfig,
    Transaction,
    Transfer,
    address_of,
)
from validators.execution.engine import Engine
from validators.execution.errors import (
    CorruptStateError,
    InvalidBlockError,
    InvalidEncodingError,
    InvalidGenesisError,
    InvalidTransactionError,
    LostBlockError,
    RootMismatchError,
    UnknownBlockError,
    UnknownParentError,
)
from validators.execution.genesis import Genesis, GenesisAccount, GenesisActor, PolicyEntry
from validators.execution.layer import (
    ExecutedBlock,
    ExecutionLayer,
    FinalizationOutcome,
    LayerTables,
    ProposalContext,
)
from validators.execution.receipts import ChainEvent, MessageDelivered, TimerReceipt, TransactionReceipt, decode_receipt
from validators.execution.schema import Entry, decode_entry
from validators.execution.summary import BlockSummary

__all__ = [
    "ApplyMode",
    "Block",
    "BlockSummary",
    "BrokenOff",
    "ChainEvent",
    "CorruptStateError",
    "Engine",
    "Entry",
    "ExecuteActor",
    "Executed",
    "ExecutedBlock",
    "ExecutionLayer",
    "FinalizationOutcome",
    "Genesis",
    "GenesisAccount",
    "GenesisActor",
    "Header",
    "InvalidBlockError",
    "InvalidEncodingError",
    "InvalidGenesisError",
    "InvalidTransactionError",
    "LayerTables",
    "LostBlockError",
    "MessageDelivered",
    "PolicyEntry",
    "ProposalContext",
    "RootMismatchError",
    "SystemCancelTimer",
    "SystemExtendTimer",
    "SystemUpdateTimerConfig",
    "TimerReceipt",
    "Transaction",
    "TransactionReceipt",
    "Transfer",
    "UnknownBlockError",
    "UnknownParentError",
    "address_of",
    "decode_entry",
    "decode_receipt",
]
