-- $1 original transaction, whose claim is locked
SELECT count(*) AS held FROM holds WHERE original_transaction_id = $1;
