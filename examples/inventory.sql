-- The inventory of the example consumers. The first two tables are what a consumer needs; the last is whatever yours is.

-- Every event once. Rows older than the outcomes topic keeps its records may be deleted.
CREATE TABLE IF NOT EXISTS handled_events (
    event_id uuid PRIMARY KEY,
    handled_at timestamptz NOT NULL DEFAULT now()
);

-- What each transaction is worth by the newest revision that was seen: 0 before the first.
CREATE TABLE IF NOT EXISTS purchases (
    transaction_id text PRIMARY KEY,
    revision integer NOT NULL DEFAULT 0,
    units integer NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS inventory (
    player_id text NOT NULL,
    product_id text NOT NULL,
    units integer NOT NULL,
    PRIMARY KEY (player_id, product_id)
);

-- Records on the outcomes topic that are no events, for a person to look at.
CREATE TABLE IF NOT EXISTS set_aside (
    topic text NOT NULL,
    partition integer NOT NULL,
    record_offset bigint NOT NULL,
    reason text NOT NULL,
    value bytea,
    set_aside_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic, partition, record_offset)
);
