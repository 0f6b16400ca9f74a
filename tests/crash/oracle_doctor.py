"""Lies for the oracle: each takes the lines of a true history and gives those of one in which
claimd broke a promise, together with the rules of which one must notice. A checker that lets one
pass proves nothing.

A lie that the history offers no place for gives None.
"""
import re

import oracle

MS = oracle.MS


def lies():
    """(name, lie) of all."""
    return [(lie.__name__, lie) for lie in (
        lose_completion, lose_result_byte, lose_record, lose_attempt, lose_checkpoint,
        reuse_token, lower_token, shorten_lease, shorten_renewal, overlap_holders,
        overlap_after_renewal, accept_stale_token,
        refuse_current_token, end_twice, count_twice, replay_from_nowhere, hurry_delay,
        forge_takeover)]


class History:
    """The lines with their ops, and what a lie looks for. With keys_max, only those of so many
    keys."""

    def __init__(self, lines, keys_max=None):
        self.lines = list(lines)
        if keys_max is not None:
            keys = dict.fromkeys(line.split(" ", 5)[4] for line in self.lines)
            kept = set(list(keys)[:keys_max])
            self.lines = [line for line in self.lines if line.split(" ", 5)[4] in kept]
        self.ops = [oracle.parse(line, number) for number, line in enumerate(self.lines)]
        self.by_key = {}
        self.tries = {}
        for op in self.ops:
            self.by_key.setdefault(op.key, []).append(op)
            if op.verb == "begin":
                self.tries[op.get("rid")] = self.tries.get(op.get("rid"), 0) + 1

    def after(self, op, *verbs):
        """The ops on the same key that were sent after an answer, in order."""
        later = [other for other in self.by_key[op.key]
                 if other.call > op.ret and other.verb in verbs]
        return sorted(later, key=lambda other: other.call)

    def having(self, verb, **fields):
        """Ops of a verb that were accepted with these values."""
        for op in self.ops:
            if op.verb == verb and op.ok and not op.repeated and \
                    all(op.get(name) == value for name, value in fields.items()):
                yield op

    def grants(self, **fields):
        """Grants that were answered at the first try, so that nothing came before it."""
        for op in self.having("begin", outcome="CLAIMED", **fields):
            if self.tries[op.get("rid")] == 1:
                yield op

    def ends(self, grant):
        """What ended an attempt, or may have."""
        return [op for op in self.by_key[grant.key] if op.verb in oracle.ENDS and
                op.token == grant.token and (op.ok or op.unsure or op.repeated)]

    def with_line(self, op, **fields):
        """The history with other values in one line; None takes a field away."""
        values = {**op.fields, **{name: value for name, value in fields.items()
                                  if name not in ("call", "ret", "status")}}
        words = [fields.get("call", op.call), fields.get("ret", op.back), op.client, op.verb,
                 op.key, fields.get("status", op.status)]
        words += [f"{name}={value}" for name, value in values.items() if value is not None]
        line = " ".join(str(word) for word in words)
        return self.lines[:op.line] + [line] + self.lines[op.line + 1:]


def lose_completion(history):
    """A duplicate is told to come back although the claim was completed."""
    for done in history.having("complete", replayed="0"):
        for later in history.after(done, "begin"):
            if later.outcome == "DUPLICATE":
                return history.with_line(later, outcome="NOT_YET", state=None, result=None,
                                         reason=None, retry_after="5"), {"lost"}
    return None


def lose_result_byte(history):
    """A duplicate gets a result that differs in one byte."""
    for done in history.having("complete", replayed="0"):
        for later in history.after(done, "begin"):
            if later.outcome == "DUPLICATE" and re.fullmatch(r"[1-9]\d*:\w+", later.get("result")):
                size, digest = later.get("result").split(":")
                digest = digest[:-1] + ("0" if digest[-1] != "0" else "1")
                return history.with_line(later, result=f"{size}:{digest}"), \
                    {"final changed", "final from nowhere"}
    return None


def lose_record(history):
    """A record is gone."""
    for grant in history.having("begin", outcome="CLAIMED"):
        for later in history.after(grant, "get"):
            if later.ok:
                return history.with_line(later, status="NOT_FOUND", state=None), {"lost"}
    return None


def lose_attempt(history):
    """A grant was forgotten: the attempt before is seen again."""
    for grant in history.having("begin", outcome="CLAIMED", attempt="2"):
        for later in history.after(grant, "get"):
            if later.ok:
                return history.with_line(later, attempt="1"), {"lost"}
    return None


def lose_checkpoint(history):
    """A successor does not get the checkpoint."""
    for renewal in history.having("renew"):
        if renewal.get("checkpoint") == "-":
            continue
        for later in history.after(renewal, "begin"):
            if later.outcome == "CLAIMED" and later.get("checkpoint") == renewal.get("checkpoint"):
                return history.with_line(later, checkpoint="-"), {"lost"}
    return None


def reuse_token(history):
    """Two claims get one token."""
    first = next(history.having("begin", outcome="CLAIMED"))
    for other in history.having("begin", outcome="CLAIMED"):
        if other.key != first.key:
            return history.with_line(other, token=first.get("token")), {"token given twice"}
    return None


def lower_token(history):
    """A later grant has a smaller token than an earlier one, on another key."""
    grants = list(history.grants())
    last = max(grants, key=lambda op: op.call)
    if any(op.ret < last.call for op in grants):
        lower = min(op.token for op in grants) - 1
        return history.with_line(last, token=str(lower)), {"tokens rise"}
    return None


def _shorten(history, ops):
    for op in ops:
        if op.get("left") == op.get("lease"):
            return history.with_line(op, left=str(op.number("lease") * 3 // 4)), {"lease"}
    return None


def shorten_lease(history):
    """A lease is shorter than was asked for."""
    return _shorten(history, history.grants())


def shorten_renewal(history):
    """So is a renewed one."""
    return _shorten(history, history.having("renew"))


def _overlap(history, before, after):
    """`after` is told at once, while the lease that `before` has told of still runs; None if it did
    not run any more when `before` was answered."""
    call = before.ret + 1
    ret = call + 10 * MS
    if ret > before.call + (before.number("left") - 10) * MS:
        return None
    return history.with_line(after, call=call, ret=ret), {"two holders"}


def _lapsed_pairs(history):
    grants = {(op.key, op.number("attempt")): op for op in history.grants()}
    for after in history.grants(prev_end="LAPSED"):
        before = grants.get((after.key, after.number("attempt") - 1))
        if before is not None:
            yield before, after


def overlap_holders(history):
    """A lease ends long before its time."""
    for before, after in _lapsed_pairs(history):
        told = None if history.ends(before) else _overlap(history, before, after)
        if told is not None:
            return told
    return None


def overlap_after_renewal(history):
    """A renewal was forgotten, and the claim taken over before its lease had ended."""
    for before, after in _lapsed_pairs(history):
        for renewal in history.after(before, "renew"):
            known = renewal.ok and not renewal.repeated and renewal.token == before.token and \
                renewal.ret < after.call and not history.ends(before)
            told = _overlap(history, renewal, after) if known else None
            if told is not None:
                return told
    return None


def accept_stale_token(history):
    """A holder is not fenced after somebody took over."""
    for op in history.ops:
        if op.status != "STALE_TOKEN" or op.verb != "complete" or op.repeated:
            continue
        taken = [other for other in history.by_key[op.key] if other.outcome == "CLAIMED" and
                 other.token > op.token and other.ret < op.call]
        if taken:
            return history.with_line(op, status="ok", state="SUCCEEDED", replayed="0"), \
                {"stale token"}
    return None


def refuse_current_token(history):
    """A holder is refused although nobody took over: its grant was lost."""
    for op in history.having("complete", replayed="0"):
        others = [other for other in history.by_key[op.key]
                  if other.verb in ("cancel", "resolve") or
                  other.verb == "begin" and (other.unsure or other.repeated or
                                             other.token not in (0, op.token))]
        if not others:
            return history.with_line(op, status="STALE_TOKEN", replayed=None), \
                {"token lost", "final from nowhere"}
    return None


def end_twice(history):
    """A repeat is taken for a new end."""
    for op in [*history.having("fail", replayed="1"), *history.having("complete", replayed="1")]:
        if any(other.ok and other.get("replayed") == "0" for other in history.ends(op)):
            return history.with_line(op, replayed="0"), {"ended twice"}
    return None


def count_twice(history):
    """A failure is counted twice."""
    for op in history.having("get"):
        first, *others = op.get("retries").split(",")
        return history.with_line(op, retries=",".join([str(int(first) + 7), *others])), {"counted"}
    return None


def replay_from_nowhere(history):
    """A first end is called a repeat."""
    for op in history.having("release", replayed="0"):
        same = [other for other in history.by_key[op.key]
                if other.verb == "release" and other.token == op.token]
        if len(same) == 1:
            return history.with_line(op, replayed="1"), {"replayed"}
    return None


def hurry_delay(history):
    """A retry is let in before its delay is over."""
    attempts = {grant.token: grant.number("attempt") for grant in history.grants()}
    for fail in history.having("fail", state="RETRYING", replayed="0"):
        if fail.call + fail.number("retry_after") * MS < fail.ret + 5 * MS:
            continue
        for later in history.after(fail, "begin"):
            if later.outcome == "CLAIMED" and not later.repeated and \
                    later.number("attempt") - 1 == attempts.get(fail.token):
                call = fail.ret + 1
                return history.with_line(later, call=call, ret=call + 1), {"delay"}
    return None


def forge_takeover(history):
    """A successor is told of another owner."""
    for _, after in _lapsed_pairs(history):
        return history.with_line(after, prev_owner="nobody"), {"takeover"}
    return None
