-- Takes back claims made in this transaction and not used.
DELETE FROM claims WHERE original_transaction_id = ANY ($1::text[]);
