-- The inventory of the example consumers. Every consumer needs tables like handled_events and purchases. Replace inventory by your
-- own table.

-- The handled events. You may delete rows that are older than the retention of the outcomes topic.
CREATE TABLE IF NOT EXISTS handled_events (
    event_id uuid PRIMARY KEY,
    handled_at timestamptz NOT NULL DEFAULT now()
);

-- The units of each transaction by its newest handled revision. Revision 0 is before the first event.
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
