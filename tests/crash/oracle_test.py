"""The checker of the crash test: it passes what is possible, and fails each lie about it."""
import unittest

import oracle
import oracle_doctor

# One line a request: call and return in milliseconds, client, verb, key, status, fields.
TRUE_HISTORY = """
# a: claimed, renewed, lapsed, taken over, completed, repeated, asked for again; the first comes
# late
  0    5 1 begin    c:a ok rid=r1 owner=o1 lease=200 outcome=CLAIMED attempt=1 token=100 left=200
 10   15 1 renew    c:a ok token=100 lease=200 checkpoint=7:aa left=200 lapsed=0
 20   25 2 begin    c:a ok rid=r2 owner=o2 lease=200 outcome=IN_FLIGHT attempt=1 retry_after=190
100  215 2 begin    c:a ok rid=r3 owner=o2 lease=200 outcome=CLAIMED attempt=2 token=103 left=200 \
    prev_end=LAPSED prev_owner=o1 checkpoint=7:aa
220  225 1 complete c:a STALE_TOKEN token=100 result=3:cc state=PROCESSING
230  235 2 complete c:a ok token=103 result=9:ab state=SUCCEEDED replayed=0
236  238 2 complete c:a ok token=103 result=9:ab state=SUCCEEDED replayed=1
240  245 3 begin    c:a ok rid=r4 owner=o3 lease=200 outcome=DUPLICATE attempt=2 state=SUCCEEDED \
    result=9:ab reason=
250  255 3 get      c:a ok state=SUCCEEDED attempt=2 retries=0,0,0,1 reason= result=9:ab \
    checkpoint=7:aa
# b: failed twice, released; nobody lapsed
  1    6 4 begin    c:b ok rid=r5 owner=o4 lease=400 outcome=CLAIMED attempt=1 token=101 left=400
  8   12 4 fail     c:b ok token=101 kind=TRANSIENT message=t1 state=RETRYING replayed=0 \
    retry_after=50
 13   14 4 fail     c:b ok token=101 kind=TRANSIENT message=t1 state=RETRYING replayed=1 \
    retry_after=47
 20   70 5 begin    c:b ok rid=r6 owner=o5 lease=400 outcome=CLAIMED attempt=2 token=102 left=400 \
    prev_end=FAILED prev_owner=o4 last_error=t1 checkpoint=-
 80   85 5 release  c:b ok token=102 state=RECEIVED replayed=0
 90   95 5 get      c:b ok state=RECEIVED attempt=2 retries=1,0,0,0 reason= result=- checkpoint=-
# c: lapsed without a renewal, and taken over by a Begin whose answer got lost, then by another
300  305 6 begin    c:c ok rid=r7 owner=o6 lease=100 outcome=CLAIMED attempt=1 token=104 left=100
406  420 7 begin    c:c ok rid=r8 owner=o7 lease=100 outcome=CLAIMED attempt=2 token=105 left=100 \
    prev_end=LAPSED prev_owner=o6 checkpoint=-
430  440 7 begin    c:c unsure rid=r9 owner=o7 lease=100
600  640 8 begin    c:c ok rid=ra owner=o8 lease=100 outcome=CLAIMED attempt=4 token=110 left=100 \
    prev_end=LAPSED prev_owner=o7 checkpoint=-
# d: completed by a request that was never answered
650  655 9 begin    c:d ok rid=rb owner=o9 lease=300 outcome=CLAIMED attempt=1 token=111 left=300
660  700 9 complete c:d unsure token=111 result=4:dd
720  725 1 begin    c:d ok rid=rc owner=o1 lease=100 outcome=DUPLICATE attempt=1 state=SUCCEEDED \
    result=4:dd reason=
# e: registered, cancelled, cancelled again
730  731 1 register c:e ok created=1 state=RECEIVED
732  733 1 cancel   c:e ok reason=first state=REJECTED replayed=0
734  735 2 cancel   c:e ok reason=second state=REJECTED replayed=1
736  737 2 begin    c:e ok rid=rd owner=o2 lease=100 outcome=DUPLICATE attempt=0 state=REJECTED \
    result=- reason=first
# f: unknown, resolved, completed by the library's second try
800  805 1 begin    c:f ok rid=re owner=o1 lease=100 outcome=CLAIMED attempt=1 token=112 left=100
806  808 1 fail     c:f ok token=112 kind=OUTCOME_UNKNOWN message=t2 state=UNKNOWN replayed=0
810  812 2 begin    c:f ok rid=rf owner=o2 lease=100 outcome=OUTCOME_UNKNOWN attempt=1 checkpoint=-
814  816 2 resolve  c:f ok as=retry reason=again result=- state=RECEIVED
818  820 2 begin    c:f ok rid=rg owner=o2 lease=100 tries=2 outcome=CLAIMED attempt=2 token=113 \
    left=100 prev_end=FAILED prev_owner=o1 checkpoint=-
822  830 2 complete c:f ok token=113 result=- tries=2 state=SUCCEEDED replayed=1
# g: nothing but the main path
840  842 3 begin    c:g ok rid=rh owner=o3 lease=100 outcome=CLAIMED attempt=1 token=114 left=100
844  846 3 complete c:g ok token=114 result=0:ee state=SUCCEEDED replayed=0
"""


def history():
    lines = []
    for line in TRUE_HISTORY.replace("\\\n", " ").strip().splitlines():
        if not line.startswith("#"):
            call, ret, *rest = line.split()
            lines.append(" ".join([str(int(call) * oracle.MS), str(int(ret) * oracle.MS), *rest]))
    return lines


def judge(lines):
    return oracle.Judgement(oracle.read(lines))


class OracleTest(unittest.TestCase):
    def test_a_possible_history_passes(self):
        judgement = judge(history())
        self.assertEqual([str(violation) for violation in judgement.violations], [])
        summary = judgement.summary()
        self.assertEqual(summary["keys"], 7)
        self.assertEqual(summary["grants"], 11)

    def test_every_lie_is_noticed(self):
        for name, lie in oracle_doctor.lies():
            with self.subTest(name):
                told = lie(oracle_doctor.History(history()))
                self.assertIsNotNone(told, "the history has no place for it")
                lines, rules = told
                self.assertNotEqual(lines, history())
                broken = judge(lines).rules_broken()
                self.assertTrue(broken & rules, f"{broken or 'nothing'} instead of {rules}")

    def check_breaks(self, rule, old, new):
        """With `old` replaced by `new` in one line, the rule is broken."""
        lines = history()
        found = [number for number, line in enumerate(lines) if old in line]
        self.assertEqual(len(found), 1, old)
        lines[found[0]] = lines[found[0]].replace(old, new)
        self.assertIn(rule, judge(lines).rules_broken())

    def test_an_answer_that_got_lost_explains_one_attempt_and_not_two(self):
        self.check_breaks("attempts", "attempt=4 token=110", "attempt=5 token=110")

    def test_what_nobody_asked_for_explains_nothing(self):
        self.check_breaks("final from nowhere", "result=4:dd reason=", "result=4:de reason=")

    def test_an_unknown_outcome_waits_for_resolve(self):
        self.check_breaks("lost", "rid=rf owner=o2 lease=100 outcome=OUTCOME_UNKNOWN attempt=1",
                          "rid=rf owner=o2 lease=100 outcome=NOT_YET attempt=1")

    def test_the_first_reason_stands(self):
        self.check_breaks("final changed", "result=- reason=first", "result=- reason=second")

    def test_a_lease_is_not_longer_than_asked_for(self):
        self.check_breaks("lease", "token=112 left=100", "token=112 left=101")

    def test_an_end_is_seen(self):
        self.check_breaks("lost", "state=RECEIVED attempt=2", "state=PROCESSING attempt=2")

    def test_a_reason_that_there_cannot_be(self):
        self.check_breaks("refused", "c:a STALE_TOKEN", "c:a CORRUPT")


if __name__ == "__main__":
    unittest.main(verbosity=2)
