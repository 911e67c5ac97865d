"""The blocks of all feeds, the oldest first, within one bound in bytes: beyond it the oldest are dropped. No I/O.

Rendering a block makes it larger, often by more than its messages are, so blocks tell when they grow.
"""

from collections import deque

from headrace.gateway.push.block import Block, ignored
from headrace.gateway.push.feed import Feed


class KeptBlocks:
    def __init__(self, bytes_max: int) -> None:
        self.bytes = 0
        self._bytes_max = bytes_max
        self._blocks: deque[tuple[Feed, Block]] = deque()

    def add(self, feed: Feed, block: Block) -> None:
        """In the order in which the feed has them."""
        self._blocks.append((feed, block))
        block.on_grown = self._grow
        self._grow(block.size)

    def forget(self, feed: Feed) -> None:
        """All that is kept of a feed that was closed."""
        for owner, block in self._blocks:
            if owner is feed:
                self._let_go(block)
        self._blocks = deque(each for each in self._blocks if each[0] is not feed)

    def _grow(self, size: int) -> None:
        self.bytes += size
        while self.bytes > self._bytes_max and len(self._blocks) > 1:
            feed, block = self._blocks.popleft()
            self._let_go(block)
            feed.drop_oldest()

    def _let_go(self, block: Block) -> None:
        self.bytes -= block.size
        block.on_grown = ignored
