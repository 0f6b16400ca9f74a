"""Counts what happened, from the ledger and the consumers' logs, and says whether it was right."""
import collections
import typing

from fleet import DEATHS, LANGUAGES


class Counts:
    """Sums over the log lines of one language."""

    def __init__(self):
        self.words = collections.Counter()     # how often each first word occurs
        self.outcomes = collections.Counter()  # of Begin
        self.effects = collections.Counter()   # charged, reconciled, refused
        self.deaths = collections.Counter()    # by point
        self.takeovers = 0                     # claimed after an attempt that lapsed
        self.consumers = 0

    def add(self, lines):
        self.consumers += 1
        for word, *rest in lines:
            self.words[word] += 1
            if word == "begin":
                _, outcome, attempt, _, ended, _, _ = rest
                self.outcomes[outcome] += 1
                self.takeovers += outcome == "CLAIMED" and int(attempt) > 1 and ended == "LAPSED"
            elif word == "effect":
                self.effects[rest[1]] += 1
            elif word == "die":
                self.deaths[rest[0]] += 1


def count(fleet):
    counts = {language: Counts() for language in LANGUAGES}
    for member in fleet.members:
        counts[member.language].add(member.lines())
    return counts


class Grant(typing.NamedTuple):
    """One CLAIMED that a consumer saw; the times are from before the call and from after it."""
    attempt: int
    token: int
    owner: str
    sent_ms: int
    received_ms: int


def grants(fleet):
    """message_id -> its grants, by attempt, as far as consumers lived to write them down."""
    seen = collections.defaultdict(list)
    for member in fleet.members:
        for line in member.lines():
            if line[0] == "begin" and line[2] == "CLAIMED":
                seen[line[1]].append(Grant(int(line[3]), int(line[4]), member.owner,
                                           int(line[6]), int(line[7])))
    return {message_id: sorted(granted) for message_id, granted in seen.items()}


def rows(run, counts):
    """The table: name, total, by language (None: not by language)."""
    def by_language(name, value):
        values = [value(counts[language]) for language in LANGUAGES]
        return (name, sum(values), *values)

    charged = collections.Counter(run.ledger_by_event().values())
    return [
        ("events", len(run.events), None, None),
        ("messages published", run.published, None, None),
        by_language("consumers started", lambda c: c.consumers),
        by_language("deliveries", lambda c: c.words["deliver"]),
        ("effects", sum(times * events for times, events in charged.items()), None, None),
        ("  per event, least", min(run.ledger_by_event().values()), None, None),
        ("  per event, most", max(run.ledger_by_event().values()), None, None),
        by_language("duplicates suppressed", lambda c: c.outcomes["DUPLICATE"]),
        by_language("found in flight, requeued", lambda c: c.outcomes["IN_FLIGHT"]),
        by_language("take-overs", lambda c: c.takeovers),
        by_language("  effect found in the inbox", lambda c: c.effects["reconciled"]),
        by_language("  late effect refused, fenced",
                    lambda c: c.effects["refused"] + c.words["fenced"]),
        ("consumer kills, at random", sum(run.fleet.kills.values()),
         *(run.fleet.kills[language] for language in LANGUAGES)),
        *(by_language(f"consumer kills, {point}", lambda c, point=point: c.deaths[point])
          for point in DEATHS),
        ("claimd kills and restarts", run.server.kills, None, None),
        by_language("calls repeated meanwhile", lambda c: c.words["repeat"]),
    ]


def print_table(table):
    def cell(value):
        return "" if value is None else f"{value:,}"
    print(f"\n{'':32}{'total':>9}{'python':>9}{'c':>9}")
    for name, *values in table:
        print(f"{name:32}" + "".join(f"{cell(value):>9}" for value in values).rstrip())


def checks(run, counts):
    """(what must hold, whether it does, what was found); the run is good iff all of them hold."""
    wanted = {(event.intent, event.type): event for event in run.events}
    ledger = run.ledger_by_event()
    missing = [key for key, times in ledger.items() if times == 0]
    doubled = [key for key, times in ledger.items() if times > 1]
    strange = [key for key in ledger if key not in wanted]
    yield "no effect is missing", not missing, _some(missing)
    yield "no effect is doubled", not doubled, _some(doubled)
    yield "no effect without an event", not strange, _some(strange)
    expected = sum(event.amount_cents for event in run.events)
    charged = run.charged_cents()
    yield ("the money is right", charged == expected,
           f"charged {charged / 100:,.2f}, wanted {expected / 100:,.2f}")
    inbox = run.inbox()
    yield ("the inbox has one row for each event",
           sorted(inbox) == sorted(run.message_ids), f"{len(inbox)} rows")
    yield "tokens in the inbox are unique", len(set(inbox.values())) == len(inbox), ""
    unfinished = {key: state for key, state in run.claim_states().items() if state != "SUCCEEDED"}
    yield "every event is SUCCEEDED in claimd", not unfinished, _some(list(unfinished.items()))
    yield "the queue is empty", run.left_in_queue == 0, f"{run.left_in_queue} messages"
    yield from _grant_checks(run)
    yield from _exercise_checks(run, counts)


def _grant_checks(run):
    """What claimd promised, checked without the inbox's help."""
    seen = grants(run.fleet)
    twice, falling, early = [], [], []
    for message_id, granted in seen.items():
        for before, after in zip(granted, granted[1:]):
            if after.attempt == before.attempt:
                twice.append((message_id, before, after))
            if after.token <= before.token:
                falling.append((message_id, before, after))
            # A lease runs from its grant, after `sent`; the next grant was before `received`.
            if after.received_ms - before.sent_ms < run.lease_ms:
                early.append((message_id, before, after))
    every_token = [grant.token for granted in seen.values() for grant in granted]
    yield "no attempt was granted twice", not twice, _some(twice)
    yield "tokens rise from attempt to attempt", not falling, _some(falling)
    yield "no lease was cut short", not early, _some(early)
    yield "no token was granted twice", len(set(every_token)) == len(every_token), ""


def _exercise_checks(run, counts):
    """A run in which nothing went wrong has shown nothing."""
    def total(value):
        return sum(value(counts[language]) for language in LANGUAGES)
    yield "some events were published twice", run.published > len(run.events), ""
    yield "duplicates were suppressed", total(lambda c: c.outcomes["DUPLICATE"]) > 0, ""
    yield "lapsed claims were taken over", total(lambda c: c.takeovers) > 0, ""
    yield ("a successor found the effect done",
           total(lambda c: c.effects["reconciled"]) > 0, "")
    for language in LANGUAGES:
        yield (f"{language}: consumers had deliveries",
               counts[language].words["deliver"] > 0, "")
        yield (f"{language}: consumers were killed at random",
               run.fleet.kills[language] >= 3, f"{run.fleet.kills[language]} kills")
        for point in DEATHS:
            yield (f"{language}: a consumer died {point}", counts[language].deaths[point] > 0, "")
    yield "claimd was killed and restarted", run.server.kills > 0, ""
    yield ("claimd was killed under load",
           total(lambda c: c.words["repeat"]) > 0, "no call had to be repeated")


def _some(found, limit=3):
    text = ", ".join(str(item) for item in found[:limit])
    return text + (f" and {len(found) - limit} more" if len(found) > limit else "")


def judge(run):
    """Prints the table and every check that does not hold; True if all do."""
    counts = count(run.fleet)
    print_table(rows(run, counts))
    results = list(checks(run, counts))
    failed = [(what, found) for what, holds, found in results if not holds]
    print()
    for what, found in failed:
        print(f"FAILED: {what}" + (f": {found}" if found else ""))
    print(f"{len(results) - len(failed)} of {len(results)} checks hold")
    return not failed
