-- The sink of the demo: what a payment service's own database would look like.
-- The inbox row and the charge are written in one transaction. The ledger has no unique key on
-- purpose: a doubled effect must be able to show itself, or counting effects would prove nothing.
CREATE TABLE inbox (
    consumer   TEXT NOT NULL,
    message_id TEXT NOT NULL,
    token      INTEGER NOT NULL,
    PRIMARY KEY (consumer, message_id)
) WITHOUT ROWID;

CREATE TABLE ledger (
    entry        INTEGER PRIMARY KEY AUTOINCREMENT,
    intent       TEXT NOT NULL,
    event_type   TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    charged_by   TEXT NOT NULL
);
