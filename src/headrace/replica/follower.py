"""The follower's rules: which batches of the leader's answer to take, and where to cut when histories part.

A leader that does not share our last epoch, or ended it earlier, says where its own history of it ends. We cut to the
last point that both have and ask again, until we agree. Calculations only; the shell does what they say.
"""

from headrace.wire.batch import BatchHeader, Bytes, CorruptBatch, crc_ok, iter_headers, parse_header


def cut_for(leader_epoch: int, leader_end: int, own_epoch: int, own_end: int, high_watermark: int) -> int:
    """The offset to cut to: the leader answered (leader_epoch, leader_end), and our own answer is (own_epoch, own_end).

    An answer without an epoch means the leader knows nothing of ours: only committed batches can be kept.
    """
    if leader_epoch < 0:
        return high_watermark
    if own_epoch < 0:
        return leader_end
    return min(own_end, leader_end)


def sound_batches(
    records: Bytes, expected_offset: int, own_epoch: int, leader_epoch: int
) -> tuple[int, list[BatchHeader]]:
    """The batches to append, and how many bytes they are: whole, with a good CRC, rising, of no later epoch.

    Stops at the first that is not; it is fetched again. A later epoch than the one we asked in comes from another
    leader, and may be cut away by the time we would count on it; an earlier one than `own_epoch`, the last of our log, is
    no epoch of this history, and the CRC does not cover it.
    """
    headers: list[BatchHeader] = []
    end = 0
    try:
        for position, header in iter_headers(records):
            if (
                header.base_offset < expected_offset
                or not own_epoch <= header.leader_epoch <= leader_epoch
                or not crc_ok(records, position, header.size)
            ):
                break
            headers.append(header)
            expected_offset, own_epoch = header.next_offset, header.leader_epoch
            end = position + header.size
    except CorruptBatch:
        pass
    return end, headers


def base_around(records: Bytes, offset: int) -> int | None:
    """The offset at which the first batch begins if `offset` lies inside it; None if it does not."""
    try:
        header = parse_header(records)
    except CorruptBatch:
        return None
    return header.base_offset if header.base_offset < offset < header.next_offset else None
