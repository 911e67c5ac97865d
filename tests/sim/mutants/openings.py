"""Rules of recovery and of a broker's return, taken away one by one: what is sound, what is damage, what must be told."""

from pytest import MonkeyPatch

from headrace.broker.disk.directory import DataDirectory
from headrace.broker.hosting.doubts import CopyDoubts
from headrace.broker.hosting.opener import Opener
from headrace.broker.hosting.openings import Openings
from headrace.broker.node import Node
from headrace.cluster import elect, rejoin
from headrace.log import opening, recovery, scan
from headrace.log.damage import DamageMark
from headrace.partition.role import Role
from sim.disk_teeth import vanished_replicas_are_new
from sim.isr_stories import DARK, HARDENED, MOMENT
from sim.mutant import edit
from sim.mutants.plans import SAFETY
from sim.mutants.plays import by_story, by_test
from sim.test_restored_store import epochs_go_back, every_restore_skips_alike, nobody_knows_that_it_went_back

RECOVERY = "tests/unit/log/test_log_recovery.py"
DIRECTORY = "tests/unit/broker/test_broker_directory.py"
REJOIN = "tests/unit/cluster/test_rejoin.py"
PARTITIONS = "tests/unit/broker/test_broker_partitions.py"
LATE = "tests/sim/test_openings_found.py"
RESTORED = "tests/sim/test_restored_store.py"
CRASHES = "tests/sim/test_log_crashes.py::test_synced_batches_survive_any_crash[0]"


# -- one log -----------------------------------------------------------------------------------------------------------


def recovered_bytes_are_not_synced(patch: MonkeyPatch) -> None:
    """What recovery read is synced again before it counts: it may have been in the page cache only."""
    edit(patch, opening._mend, ("log.sync.touch(segment.file)", "pass"))


def unsound_ends_stay(patch: MonkeyPatch) -> None:
    """What recovery does not take for sound is cut off: the next append would go behind it."""
    edit(patch, opening._mend, ("active.file.truncate(active.size)", "pass"))


def the_segment_before_is_not_read(patch: MonkeyPatch) -> None:
    """Recovery begins in the segment before a recovery point that lies between two: a cut there may be undone."""
    edit(
        patch,
        recovery.recover,
        ("for segment in segments], recovery_point)", "for segment in segments], recovery_point + 1)"),
    )


def jumps_are_believed(patch: MonkeyPatch) -> None:
    """Recovery doubts an offset or an epoch that jumps, which no checksum covers, if the next batch says otherwise."""
    edit(patch, scan.sound_batches, ("if has_jumped and ", "if False and "))


def retired_segments_come_back(patch: MonkeyPatch) -> None:
    """Segments below the start of a log that a crash brought back are dropped."""
    patch.setattr(opening, "_without_retired", lambda log, segments: segments)


def lost_heads_are_not_seen(patch: MonkeyPatch) -> None:
    """A log that begins above the start that was written down has lost its beginning."""
    edit(patch, opening.open_log, ("segments[0].base_offset > log.start_offset", "False"))


def damage_is_told_once(patch: MonkeyPatch) -> None:
    """A log that recovery cut is marked until the cluster was told: the cut itself shows no more."""
    patch.setattr(DamageMark, "set", lambda self: None)


# -- a broker's return -------------------------------------------------------------------------------------------------


def ends_below_the_watermark_are_no_damage(patch: MonkeyPatch) -> None:
    """A log that ends below its high watermark is damaged if the page cache lived."""
    edit(patch, Opener._note_damage, (" or lacks_committed", ""))


def every_boot_is_the_same(patch: MonkeyPatch) -> None:
    """A machine that booted since has lost its page cache: its boot id says so."""
    edit(patch, Node._is_same_boot, ('before.boot_id == self._clock.boot_id() != ""', "True"))


def lost_page_caches_are_not_told(patch: MonkeyPatch) -> None:
    """A broker whose machine lost power gives up its place in relaxed topics: it lacks what was in its page cache."""
    edit(patch, rejoin._all_doubts, ("and lost_page_cache and", "and False and"))


def what_was_relaxed_is_forgotten(patch: MonkeyPatch) -> None:
    """A log that acknowledged from memory lacks that after a power cut, whatever its topic is set to by then."""
    edit(patch, Opener._note_damage, ("elif lost_memory:", "elif False:"))


def memory_counts_at_once(patch: MonkeyPatch) -> None:
    """Acks of a topic that was made relaxed rest on memory when it is written down that they do."""
    edit(patch, Role.on_config, ("self.is_durable = self.is_durable or config", "self.is_durable = config"))


def internal_topics_are_left_out(patch: MonkeyPatch) -> None:
    """A relaxed internal topic does not count on a broker that lost its page cache either."""
    edit(patch, rejoin._all_doubts, ("and lost_page_cache and", "and lost_page_cache and topic.name[:2] != '__' and"))


def damaged_replicas_lead(patch: MonkeyPatch) -> None:
    """The last in-sync replica does not lead if it is damaged, until somebody decides for an unclean election."""
    edit(patch, elect.choose_leader, ("each in live and each not in state.damaged]", "each in live]"))


def the_last_damaged_one_is_not_marked(patch: MonkeyPatch) -> None:
    """The last in-sync replica stays in the set when it is damaged, and is marked."""
    edit(patch, rejoin.doubted, ("marked = isr", "pass"))


def the_last_unsure_one_is_given_up(patch: MonkeyPatch) -> None:
    """Of several in-sync replicas that a power cut may have left with a hole the last one leads."""
    edit(patch, rejoin.doubted, ("elif doubt is Doubt.DAMAGED:", "elif doubt is not Doubt.UNSYNCED:"))


def unsure_ones_go_before_the_eligible(patch: MonkeyPatch) -> None:
    """The last in-sync replica that is unsure of its copy gives its place to those that are eligible to lead."""
    edit(patch, rejoin.doubted, ("elif elr and doubt is Doubt.UNSURE:", "elif False:"))


def unsynced_leaders_are_not_counted(patch: MonkeyPatch) -> None:
    """The last in sync of a relaxed topic leads on after it lost its page cache: an unclean election, and counted so."""
    edit(patch, rejoin._take_back, ("unclean += doubt is Doubt.UNSYNCED", "unclean += False"))


def late_openings_are_trusted(patch: MonkeyPatch) -> None:
    """A log that is opened late with a hole is withheld as long as the cluster counts on it."""
    edit(patch, Openings._host, ("if must_stand_down(state, partition.broker_id, doubt):", "if False:"))


def one_that_cannot_be_opened_is_led_on(patch: MonkeyPatch) -> None:
    """A partition that cannot be opened is told to the cluster, so that another in-sync replica leads it."""
    edit(patch, CopyDoubts.all.fget, ("{**unopened, **self._found}", "{**self._found}"))


def directories_are_not_made_durable(patch: MonkeyPatch) -> None:
    """The data directory is durable, with its parents, before anything is written into it."""
    edit(patch, DataDirectory._make, ("self._disk.sync_dir_job(parent)()", "pass"))


OPENINGS = (
    by_test("recovered-bytes-are-not-synced", recovered_bytes_are_not_synced, CRASHES),
    by_test("unsound-ends-stay", unsound_ends_stay, CRASHES),
    by_test("the-segment-before-is-not-read", the_segment_before_is_not_read, CRASHES),
    by_test(
        "jumps-are-believed", jumps_are_believed, f"{RECOVERY}::test_a_flipped_offset_is_judged_by_the_batch_after_it"
    ),
    by_test(
        "retired-segments-come-back",
        retired_segments_come_back,
        f"{RECOVERY}::test_segments_below_the_start_that_came_back_are_dropped",
    ),
    by_test(
        "lost-heads-are-not-seen",
        lost_heads_are_not_seen,
        f"{RECOVERY}::test_a_log_whose_first_segment_is_gone_lacks_its_head_until_it_begins_anew",
    ),
    by_test(
        "damage-is-told-once",
        damage_is_told_once,
        f"{RECOVERY}::test_damage_is_known_to_the_next_life_until_somebody_was_told",
    ),
    by_test(
        "ends-below-the-watermark-are-no-damage",
        ends_below_the_watermark_are_no_damage,
        f"{PARTITIONS}::test_a_relaxed_log_that_ends_below_what_was_committed",
    ),
    by_story("every-boot-is-the-same", every_boot_is_the_same, SAFETY, DARK),
    by_story(
        "lost-page-caches-are-not-told",
        lost_page_caches_are_not_told,
        SAFETY,
        DARK,
        (what_was_relaxed_is_forgotten, "the broker knows by itself which logs were relaxed; taken away with that"),
    ),
    by_story("what-was-relaxed-is-forgotten", what_was_relaxed_is_forgotten, SAFETY, HARDENED),
    by_story("memory-counts-at-once", memory_counts_at_once, SAFETY, MOMENT),
    by_test(
        "internal-topics-are-left-out",
        internal_topics_are_left_out,
        f"{REJOIN}::test_after_a_power_loss_a_relaxed_internal_topic_does_not_count_on_it_either",
    ),
    by_test(
        "damaged-replicas-lead",
        damaged_replicas_lead,
        f"{LATE}::test_the_last_in_sync_whose_directory_vanished_does_not_lead",
    ),
    by_test(
        "the-last-damaged-one-is-not-marked",
        the_last_damaged_one_is_not_marked,
        f"{REJOIN}::test_the_last_in_sync_replica_stays_offline_when_damaged_until_someone_insists",
    ),
    by_test(
        "the-last-unsure-one-is-given-up",
        the_last_unsure_one_is_given_up,
        f"{LATE}::test_of_two_in_sync_that_a_power_cut_left_with_a_hole_one_leads",
    ),
    by_test(
        "unsure-ones-go-before-the-eligible",
        unsure_ones_go_before_the_eligible,
        f"{REJOIN}::test_the_last_in_sync_that_is_unsure_gives_its_place_to_one_that_is_eligible",
    ),
    by_test(
        "unsynced-leaders-are-not-counted",
        unsynced_leaders_are_not_counted,
        f"{REJOIN}::test_the_last_in_sync_replica_of_a_relaxed_partition_leads_again_and_that_is_counted",
    ),
    by_test(
        "late-openings-are-trusted",
        late_openings_are_trusted,
        f"{LATE}::test_the_last_in_sync_that_is_opened_late_with_a_hole_does_not_lead",
    ),
    by_test(
        "one-that-cannot-be-opened-is-led-on",
        one_that_cannot_be_opened_is_led_on,
        f"{LATE}::test_a_leader_that_cannot_open_its_partition_is_replaced",
    ),
    by_test(
        "directories-are-not-made-durable",
        directories_are_not_made_durable,
        f"{DIRECTORY}::test_a_new_directory_becomes_ours_and_stays_so_through_a_power_cut",
    ),
    by_test(
        "vanished-replicas-are-new",
        vanished_replicas_are_new,
        f"{LATE}::test_a_replica_whose_directory_vanished_is_not_in_sync",
    ),
    by_test("epochs-go-back", epochs_go_back, f"{RESTORED}::test_acknowledged_records_outlive_a_restored_store"),
    by_test(
        "restored-stores-are-not-noticed",
        nobody_knows_that_it_went_back,
        f"{RESTORED}::test_acknowledged_records_outlive_a_restored_store",
    ),
    by_test(
        "every-restore-skips-alike",
        every_restore_skips_alike,
        f"{RESTORED}::test_acknowledged_records_outlive_a_restored_store",
    ),
)
