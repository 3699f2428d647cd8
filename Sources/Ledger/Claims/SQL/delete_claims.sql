-- Deletes claims that this SQL transaction inserted and did not use.
-- $1 original transactions and periods
DELETE FROM claims WHERE original_transaction_id = ANY ($1::text[]);
