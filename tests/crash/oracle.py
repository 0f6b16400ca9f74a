"""Judges an oracle file of the crash test: is what clients were told possible if claimd keeps its
promises?

    oracle.py FILE...      prints what it found; exit status 0 if nothing is wrong

It knows nothing of how the load was made, nor of claimd's code: only the lines (load_oracle.h says
what they mean) and the rules of docs/SEMANTICS.md. Every rule is about real time: an answer that
came before another request was sent must be visible to that request. A request without a certain
answer ("unsure") may have happened at any time after it was sent, or never. There is no pruning and
no operator in these histories: what is final stays so.
"""
import bisect
import collections
import dataclasses
import math
import sys

MS = 1_000_000
LAPSED_MAX = 10  # retries after lapses in the default policy

ENDS = {"complete": "COMPLETED", "reject": "REJECTED", "fail": "FAILED", "release": "RELEASED"}
FINAL = ("SUCCEEDED", "REJECTED", "DISCARDED")
# Refusals that a client of this load may be given, and what they must not hide.
REFUSALS = {"NOT_FOUND", "STALE_TOKEN", "WRONG_STATE", "QUEUE_FULL", "DRAINING", "DISK_RESERVE"}
SEEN_AS = {"IN_FLIGHT": "PROCESSING", "NOT_YET": "RETRYING", "OUTCOME_UNKNOWN": "UNKNOWN",
           "DEAD_LETTERED": "DEAD_LETTERED", "CLAIMED": "PROCESSING"}


@dataclasses.dataclass(slots=True)
class Op:
    """One request and its answer."""

    call: int
    ret: float  # when its answer was known: never, if it is not
    client: int
    verb: str
    key: str
    status: str
    fields: dict
    line: int
    back: int  # when the call returned, with or without an answer

    @property
    def ok(self):
        return self.status == "ok"

    @property
    def unsure(self):
        return self.status == "unsure"

    def get(self, name, default=None):
        return self.fields.get(name, default)

    def number(self, name):
        return int(self.fields[name])

    @property
    def repeated(self):
        """By the library, before it was answered."""
        return "tries" in self.fields

    @property
    def outcome(self):
        return self.fields.get("outcome")

    @property
    def token(self):
        return int(self.fields.get("token", 0))

    @property
    def arguments(self):
        """What makes it the same request again, for verbs that end an attempt."""
        names = {"complete": ("result",), "reject": ("reason", "result"),
                 "fail": ("kind", "message"), "release": ()}[self.verb]
        return (self.verb, *(self.fields.get(name) for name in names))

    def final_value(self):
        """(state, result, reason) that this makes or shows, or None if it is not about a final
        record. Why it was rejected is part of it; a record that succeeded may show why it was once
        resolved."""
        result, reason = self.get("result"), self.get("reason")
        if self.verb == "complete":
            return ("SUCCEEDED", result, None)
        if self.verb == "reject":
            return ("REJECTED", result, reason)
        if self.verb == "cancel":
            return ("REJECTED", "-", reason)
        if self.verb == "resolve" and self.get("as") in ("succeeded", "rejected"):
            state = self.get("as").upper()
            return (state, result, reason if state == "REJECTED" else None)
        if self.verb in ("begin", "get") and self.get("state") in FINAL:
            state = self.get("state")
            return (state, result, reason if state == "REJECTED" else None)
        return None

    def __str__(self):
        fields = " ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"line {self.line}: client {self.client} {self.verb} {self.status} {fields}"


def parse(line, number):
    call, ret, client, verb, key, status, *fields = line.split()
    op = Op(int(call), int(ret), int(client), verb, key, status,
            dict(field.split("=", 1) for field in fields), number, int(ret))
    if op.unsure:
        op.ret = math.inf
    return op


def read(lines):
    """The ops of an oracle file. A request that the library repeated stands for two: what it was
    told in the end, and an earlier try that nobody knows about."""
    ops = []
    for number, line in enumerate(lines, 1):
        op = parse(line, number)
        ops.append(op)
        if op.repeated:
            names = ("rid", "owner", "lease") if op.verb == "begin" else (
                "token", "lease", "result", "reason", "kind", "message", "checkpoint", "as")
            asked = {name: value for name, value in op.fields.items() if name in names}
            ops.append(dataclasses.replace(op, ret=math.inf, status="unsure", fields=asked))
    return ops


@dataclasses.dataclass(slots=True)
class Grant:
    """One attempt, from the answers that told of it."""

    token: int
    attempt: int
    request_id: str
    owner: str
    call: int  # before its first try was sent
    ret: float  # when its first answer was there
    ack: Op
    lease_until: float = 0  # the least time until which it was exclusive, if nobody ended it


class Violation:
    def __init__(self, rule, text, *ops):
        self.rule = rule
        self.text = text
        self.ops = ops

    def __str__(self):
        keys = {op.key for op in self.ops}
        lines = [f"{self.rule}: {self.text} [{', '.join(sorted(keys))}]"]
        return "\n    ".join(lines + [str(op) for op in self.ops])


class KeyHistory:
    """What happened to one key, and the rules that hold for it."""

    def __init__(self, key, ops, report):
        self.key = key
        self.ops = sorted(ops, key=lambda op: op.call)
        self.report = report
        self.begins_unsure = [op for op in self.ops if op.verb == "begin" and op.unsure]
        self.ends = collections.defaultdict(list)  # by token: accepted, or perhaps
        for op in self.ops:
            if op.verb in ENDS and (op.ok or op.unsure):
                self.ends[op.token].append(op)
        self.renewals = [op for op in self.ops if op.verb == "renew" and (op.ok or op.unsure)]
        self.decisions = [op for op in self.ops  # of people: they erase the token
                          if op.verb in ("cancel", "resolve") and (op.ok or op.unsure)]
        self.grants = {}
        self._find_grants()

    # --- grants -----------------------------------------------------------------------------------

    def _find_grants(self):
        first_try = {}
        for op in self.ops:
            if op.verb == "begin":
                first_try.setdefault(op.get("rid"), op.call)
        for op in self.ops:
            if op.verb != "begin" or not op.ok or op.outcome != "CLAIMED":
                continue
            known = self.grants.get(op.token)
            if known is None:
                self.grants[op.token] = Grant(
                    op.token, op.number("attempt"), op.get("rid"), op.get("owner"),
                    first_try[op.get("rid")], op.ret, op, op.call + op.number("left") * MS)
                continue
            if (known.request_id, known.attempt) != (op.get("rid"), op.number("attempt")):
                self.report("token given twice", "one token for two requests", known.ack, op)
            known.ret = min(known.ret, op.ret)
        for op in self.renewals:
            grant = self.grants.get(op.token)
            if grant is not None and op.ok:
                grant.lease_until = max(grant.lease_until, op.call + op.number("left") * MS)

    def check_grants(self):
        by_attempt = sorted(self.grants.values(), key=lambda grant: grant.attempt)
        for before, after in zip(by_attempt, by_attempt[1:]):
            if before.attempt == after.attempt:
                self.report("attempt given twice", "two tokens for one attempt", before.ack,
                            after.ack)
            elif before.token >= after.token:
                self.report("tokens rise", "a later attempt has a smaller token", before.ack,
                            after.ack)
            self._check_exclusive(before, after)
            self._check_gap(before, after)
        for grant in self.grants.values():
            self._check_lease(grant)
        if by_attempt:
            self._check_gap(None, by_attempt[0])

    def _check_lease(self, grant):
        """As long as asked for; a repeat finds what is left of it."""
        left, lease = grant.ack.number("left"), grant.ack.number("lease")
        if left > lease:
            self.report("lease", "longer than asked for", grant.ack)
        if left < lease and grant.call == grant.ack.call and not grant.ack.repeated:
            self.report("lease", "shorter than asked for", grant.ack)

    def _check_exclusive(self, before, after):
        """Nobody else may be told of a grant while the lease of the one before still ran, unless
        that one was ended, or may have been."""
        until = min([before.lease_until] +
                    [op.call for op in self.ends[before.token]])
        if after.ret < until:
            self.report("two holders", f"taken over {(until - after.ret) / MS:.3f} ms too early",
                        before.ack, after.ack)

    def _check_gap(self, before, after):
        """Attempts that nobody was told of belong to Begins whose answer got lost."""
        missing = after.attempt - (before.attempt if before else 0) - 1
        possible = sum(1 for op in self.begins_unsure if op.call < after.ret)
        if missing > possible:
            self.report("attempts", f"{missing} attempts that nobody can have begun", after.ack)

    def check_takeovers(self):
        by_attempt = {grant.attempt: grant for grant in self.grants.values()}
        for grant in self.grants.values():
            ack, before = grant.ack, by_attempt.get(grant.attempt - 1)
            if grant.attempt == 1 or before is None:
                continue
            if "prev_end" not in ack.fields:
                self.report("takeover", "a later attempt without it", ack)
                continue
            if ack.get("prev_owner") != before.owner:
                self.report("takeover", "not the owner of the attempt before", before.ack, ack)
            told = {ENDS[op.verb] for op in self.ends[before.token] if op.ok and op.ret < ack.call}
            maybe = {ENDS[op.verb] for op in self.ends[before.token] if op.call < ack.ret}
            if ack.get("prev_end") not in (told or maybe | {"LAPSED"}):
                self.report("takeover", f"the attempt before ended as {told or maybe or 'LAPSED'}",
                            before.ack, *self.ends[before.token], ack)
            said = {op.get("message") for op in self.ends[before.token] if op.verb == "fail"}
            if ack.get("prev_end") == "FAILED" and ack.get("last_error", None) not in said | {None}:
                self.report("takeover", f"the attempt before failed with {said}", before.ack, ack)

    # --- verbs with a token -----------------------------------------------------------------------

    def check_ends(self):
        for token, ends in self.ends.items():
            accepted = [op for op in ends if op.ok]
            first = [op for op in accepted if op.get("replayed") == "0"]
            if len(first) > 1:
                self.report("ended twice", "accepted as new more than once", *first)
            for op in accepted:
                if op.arguments != accepted[0].arguments:
                    self.report("ended twice", "with different arguments", accepted[0], op)
                if op.get("replayed") == "1" and not any(
                        other is not op and other.arguments == op.arguments and other.call < op.ret
                        for other in ends):
                    self.report("replayed", "although it was never asked for before", op)
            for op in accepted:
                self._check_current(op, token)

    def check_renewals(self):
        for op in self.renewals:
            if not op.ok:
                continue
            self._check_current(op, op.token)
            if op.number("left") < op.number("lease") and not op.repeated:
                self.report("lease", "renewed for less than asked for", op)
            ended = [end for end in self.ends[op.token] if end.ok and end.ret < op.call]
            if ended:
                self.report("stale token", "renewed after its end", ended[0], op)

    def _check_current(self, op, token):
        """Nothing is accepted with a token once somebody took over or decided."""
        grant = self.grants.get(token)
        if grant is None:
            self.report("stale token", "accepted with a token that was never given", op)
            return
        for other in self.grants.values():
            if other.attempt > grant.attempt and other.ret < op.call:
                self.report("stale token", "accepted after a take-over", grant.ack, other.ack, op)
                return
        for decision in self.decisions:
            if decision.ok and decision.get("replayed") != "1" and decision.ret < op.call and \
                    decision.call > grant.ret:
                self.report("stale token", "accepted after a decision", decision, op)

    def check_refusals(self):
        for op in self.ops:
            if op.ok or op.unsure:
                continue
            if op.status not in REFUSALS:
                self.report("refused", "for a reason that there cannot be", op)
            elif op.status == "NOT_FOUND" and op.verb != "get":
                self._check_absent(op)
            elif op.status == "STALE_TOKEN":
                self._check_stale(op)
            elif op.status == "WRONG_STATE" and op.token:
                self._check_wrong_state(op)

    def _check_stale(self, op):
        grant = self.grants.get(op.token)
        if grant is None:
            return
        taken_over = any(other.attempt > grant.attempt and other.call < op.ret
                         for other in self.grants.values())
        maybe = any(other.call < op.ret for other in self.begins_unsure + self.decisions)
        if not taken_over and not maybe:
            self.report("token lost", "STALE_TOKEN although nobody took over", grant.ack, op)

    def _check_wrong_state(self, op):
        grant = self.grants.get(op.token)
        others = [end for end in self.ends[op.token]
                  if end.call < op.ret and (op.verb not in ENDS or end.arguments != op.arguments)]
        lapsed_out = op.get("state") == "DEAD_LETTERED" and grant is not None and \
            grant.attempt > LAPSED_MAX
        if not others and not lapsed_out:
            self.report("repeat refused", "WRONG_STATE although nothing else ended the attempt", op)

    # --- what is seen -----------------------------------------------------------------------------

    def _check_absent(self, op):
        made = next((other for other in self.ops
                     if other.ret < op.call and self._shows(other)), None)
        if made is not None:
            self.report("lost", "the record is gone", made, op)

    @staticmethod
    def _shows(op):
        """Whether the answer proves that there is a record."""
        return op.ok or op.status in ("STALE_TOKEN", "WRONG_STATE")

    def _seen(self):
        """(op, state, attempt or None) of every answer that shows the record as it was."""
        for op in self.ops:
            if not op.ok:
                continue
            if op.verb == "begin":
                state = op.get("state") if op.outcome == "DUPLICATE" else SEEN_AS[op.outcome]
                yield op, state, op.number("attempt")
            elif op.verb == "get":
                yield op, op.get("state"), op.number("attempt")
            elif op.verb == "register":
                yield op, op.get("state"), None

    def check_seen(self):
        seen = list(self._seen())
        for op in self.ops:
            if op.verb == "get" and op.status == "NOT_FOUND":
                self._check_absent(op)
        made = [op for op in self.ops if op.verb == "register" and op.get("created") == "1"]
        for op in made:
            self._check_absent(op)
        self._check_attempts(seen)
        self._check_final(seen)
        self._check_dead(seen)
        for op, state, attempt in seen:
            self._check_unknown(op, state)
            self._check_ended(op, state, attempt)
        for op in self.ops:
            if op.ok and "checkpoint" in op.fields and op.verb in ("begin", "get"):
                self._check_checkpoint(op)
            if op.ok and op.verb == "get":
                self._check_counters(op)

    def _check_attempts(self, seen):
        """The number never goes back, and does not run ahead of who can have begun one."""
        known = sorted((op.ret, attempt, op) for op, _, attempt in seen if attempt is not None)
        returns = [entry[0] for entry in known]
        highest, best = [], None
        for _, attempt, op in known:
            if best is None or attempt > best[0]:
                best = (attempt, op)
            highest.append(best)
        for op, _, attempt in seen:
            if attempt is None:
                continue
            before = bisect.bisect_left(returns, op.call)
            if before and highest[before - 1][0] > attempt:
                self.report("lost", "an attempt is gone", highest[before - 1][1], op)
            begun = [grant.attempt for grant in self.grants.values() if grant.call < op.ret]
            unsure = sum(1 for other in self.begins_unsure if other.call < op.ret)
            if attempt > max(begun, default=0) + unsure:
                self.report("attempts", "more than anybody can have begun", op)

    def _check_final(self, seen):
        """There is one end, it comes from somebody, and from then on everybody sees it."""
        makers = [op for op in self.ops if (op.ok or op.unsure) and op.final_value() is not None and
                  op.verb not in ("begin", "get") and op.get("replayed") != "1"]
        finals = [op for op in self.ops if op.ok and op.final_value() is not None]
        if not finals:
            return
        first = min(finals, key=lambda op: op.ret)
        # A repeated Cancel says its own reason, and the first one stands.
        proofs = [op for op in finals if op.verb != "cancel" or op.get("replayed") != "1"]
        for op in proofs:
            if op.final_value() != proofs[0].final_value():
                self.report("final changed", "two different ends of one claim", proofs[0], op)
            if not any(maker.call < op.ret and maker.final_value() == op.final_value()
                       for maker in makers):
                self.report("final from nowhere", "nobody ended it so", op)
        for op, state, _ in seen:
            if op.call > first.ret and state not in FINAL:
                self.report("lost", "it was final", first, op)

    def _check_dead(self, seen):
        """A dead letter stays one. (One that a lapse has made can still be ended by its last
        holder.)"""
        dead = [op for op in self.ops if op.ok and op.get("state") == "DEAD_LETTERED" and
                op.verb in ("fail", "resolve")]
        if not dead:
            return
        first = min(dead, key=lambda op: op.ret)
        for op, state, _ in seen:
            if op.call > first.ret and state != "DEAD_LETTERED":
                self.report("lost", "it was a dead letter", first, op)

    def _check_unknown(self, op, state):
        for fail in self.ops:
            if fail.verb == "fail" and fail.ok and fail.get("state") == "UNKNOWN" and \
                    fail.ret < op.call and state != "UNKNOWN" and \
                    not any(other.verb == "resolve" and other.call < op.ret
                            for other in self.decisions):
                self.report("lost", "its outcome was unknown, and nobody resolved it", fail, op)

    def _check_ended(self, op, state, attempt):
        """An attempt that has ended is not running, and a delay is waited for."""
        for grant in self.grants.values():
            for end in self.ends[grant.token]:
                if not end.ok or end.ret >= op.call:
                    continue
                if state == "PROCESSING" and attempt == grant.attempt:
                    self.report("lost", "the attempt had ended", end, op)
                delay = int(end.get("retry_after", 0))
                due = end.call + delay * MS
                if delay and end.get("replayed") == "0" and op.outcome == "CLAIMED" and \
                        attempt == grant.attempt + 1 and op.ret < due:
                    self.report("delay", f"{(due - op.ret) / MS:.3f} ms too early", end, op)

    def _check_checkpoint(self, op):
        """The last one that was acknowledged, or one that may have come after it."""
        attempts = {grant.token: grant.attempt for grant in self.grants.values()}
        stored = [other for other in self.renewals
                  if other.get("checkpoint") != "-" and other.call < op.ret]
        certain = [other for other in stored if other.ok and other.ret < op.call]
        if op.get("checkpoint") == "-":
            if certain:
                self.report("lost", "a checkpoint is gone", certain[-1], op)
            return

        def replaced(other):
            return any(later is not other and
                       (other.ret < later.call or
                        attempts.get(other.token, 0) < attempts.get(later.token, 0))
                       for later in certain)

        values = {other.get("checkpoint") for other in stored if not replaced(other)}
        if op.get("checkpoint") not in values:
            self.report("lost", "not the last checkpoint", *certain[-1:], op)

    def _check_counters(self, op):
        """Each failure is counted once, however often it was reported."""
        counted = [int(count) for count in op.get("retries").split(",")]
        for kind, count in zip(("TRANSIENT", "UNCLASSIFIED", "POISON"), counted):
            fails = [other for ends in self.ends.values() for other in ends
                     if other.verb == "fail" and other.get("kind") == kind]
            least = {other.token for other in fails if other.ok and other.ret < op.call}
            most = {other.token for other in fails if other.call < op.ret}
            if not len(least) <= count <= len(most):
                self.report("counted", f"{kind} {count} times, and reported {len(least)} to "
                            f"{len(most)} times", op)

    def check(self):
        self.check_grants()
        self.check_takeovers()
        self.check_ends()
        self.check_renewals()
        self.check_refusals()
        self.check_seen()


class Judgement:
    """All keys, and what holds over all of them."""

    def __init__(self, ops):
        self.ops = ops
        self.violations = []
        by_key = collections.defaultdict(list)
        for op in ops:
            by_key[op.key].append(op)
        self.keys = {key: KeyHistory(key, its_ops, self._report) for key, its_ops in by_key.items()}
        for history in self.keys.values():
            history.check()
        self._check_tokens()

    def _report(self, rule, text, *ops):
        self.violations.append(Violation(rule, text, *ops))

    def _check_tokens(self):
        """Over the whole store: a grant that was answered before another was asked for has the
        smaller token. And none is given twice."""
        grants = [grant for history in self.keys.values() for grant in history.grants.values()]
        by_token = {}
        for grant in grants:
            other = by_token.setdefault(grant.token, grant)
            if other is not grant:
                self._report("token given twice", "to two claims", other.ack, grant.ack)
        answered = sorted(grants, key=lambda grant: grant.ret)
        highest, position = None, 0
        for grant in sorted(grants, key=lambda grant: grant.call):
            while position < len(answered) and answered[position].ret < grant.call:
                if highest is None or answered[position].token > highest.token:
                    highest = answered[position]
                position += 1
            if highest is not None and highest.token >= grant.token:
                self._report("tokens rise", "a later grant has a smaller token", highest.ack,
                             grant.ack)

    def rules_broken(self):
        return {violation.rule for violation in self.violations}

    def summary(self):
        """How much there was to judge."""
        accepted = sum(1 for op in self.ops if op.ok and (
            op.verb in ENDS or op.verb in ("renew", "cancel", "resolve") or
            op.outcome == "CLAIMED" or op.get("created") == "1"))
        return {
            "requests": len(self.ops),
            "keys": len(self.keys),
            "accepted": accepted,
            "unsure": sum(1 for op in self.ops if op.unsure),
            "grants": sum(len(history.grants) for history in self.keys.values()),
            "take-overs": sum(1 for op in self.ops if op.get("prev_end") == "LAPSED"),
            "replayed": sum(1 for op in self.ops if op.get("replayed") == "1"),
            "stale": sum(1 for op in self.ops if op.status == "STALE_TOKEN"),
            "duplicates": sum(1 for op in self.ops if op.outcome == "DUPLICATE"),
            "final": sum(1 for history in self.keys.values()
                         if any(op.ok and op.final_value() for op in history.ops)),
        }


def judge_file(path):
    with open(path, encoding="utf-8") as lines:
        return Judgement(read(lines))


def main():
    broken = False
    for path in sys.argv[1:]:
        judgement = judge_file(path)
        print(path, judgement.summary())
        for violation in judgement.violations[:20]:
            print(violation)
        print(f"{len(judgement.violations)} violations")
        broken = broken or bool(judgement.violations)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
