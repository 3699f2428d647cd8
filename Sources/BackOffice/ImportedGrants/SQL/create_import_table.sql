-- Creates a temporary table for the lines of one batch. The batch's SQL transaction drops it at its end.
CREATE TEMPORARY TABLE imported (
    line bigint NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    quantity integer NOT NULL,
    environment text COLLATE "C" NOT NULL,
    purchased_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz,
    granted_at timestamptz NOT NULL,
    submission_id text COLLATE "C" NOT NULL,
    period_id text COLLATE "C"
) ON COMMIT DROP
