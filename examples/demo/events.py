"""The payment events: what is published, how often and in which order, all from one seed."""
import dataclasses
import json

import pika

TWICE_AT_ONCE = 0.08  # both copies next to each other: two consumers get them at the same moment
TWICE_LATER = 0.07    # the second copy comes when the first is long done

# Natural keys contain what they like; ':' and '%' must be encoded alike in every language, or one
# event would be charged once by each.
_MERCHANTS = ("acme", "globex:eu", "100%-records", "north wind", "müller")
_TYPES = ("payment:captured", "refund:issued")


@dataclasses.dataclass(frozen=True)
class Event:
    intent: str
    type: str
    amount_cents: int

    def body(self):
        return json.dumps({"intent": self.intent, "type": self.type,
                           "amount_cents": self.amount_cents}, ensure_ascii=False).encode()


def make(count, rng):
    """Distinct events: an intent has one or two of them, with different types."""
    made = []
    while len(made) < count:
        intent = f"pi_{len(made):05d}/{rng.choice(_MERCHANTS)}"
        for event_type in _TYPES[:rng.choice((1, 1, 2))]:
            made.append(Event(intent, event_type, rng.randint(100, 50_000)))
    rng.shuffle(made)
    return made[:count]


def publications(events, parts, rng):
    """The messages to publish, cut into parts; some events occur twice."""
    cut = [events[len(events) * i // parts:len(events) * (i + 1) // parts] for i in range(parts)]
    published = [[] for _ in range(parts)]
    for index, part in enumerate(cut):
        for event in part:
            dice = rng.random()
            published[index].append(event)
            if dice < TWICE_AT_ONCE:
                published[index].append(event)
            elif dice < TWICE_AT_ONCE + TWICE_LATER:
                later = published[min(index + 2, parts - 1)]
                later.insert(rng.randint(0, len(later)) if later is not published[index]
                             else len(later), event)
    return published


class Publisher:
    """Persistent messages with publisher confirms: returns when the broker has them on disk."""

    def __init__(self, broker):
        self._queue = broker.queue
        self._connection = broker.connect()
        self._channel = self._connection.channel()
        self._channel.confirm_delivery()
        self.count = 0

    def publish(self, events):
        for event in events:
            self._channel.basic_publish("", self._queue, event.body(), pika.BasicProperties(
                delivery_mode=pika.DeliveryMode.Persistent.value,
                content_type="application/json"), mandatory=True)
            self.count += 1

    def idle(self):
        """Answers the broker's heartbeats while there is nothing to publish."""
        self._connection.process_data_events(0)

    def close(self):
        self._connection.close()
