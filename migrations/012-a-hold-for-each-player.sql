-- A transaction may be held for one player while another player disputes that. Parked submissions can be found by their
-- order.

ALTER TABLE IF EXISTS parked ADD COLUMN IF NOT EXISTS order_id text COLLATE "C";
ALTER TABLE holds ADD COLUMN IF NOT EXISTS is_bound boolean;
ALTER TABLE holds DROP CONSTRAINT holds_pkey;
CREATE UNIQUE INDEX IF NOT EXISTS holds_key ON holds (transaction_id, player_id);
ALTER TABLE holds ADD CONSTRAINT holds_pkey PRIMARY KEY USING INDEX holds_key;
