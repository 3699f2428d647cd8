-- As if it had never been leased. $1 transaction; $2 its lease
UPDATE finishes SET due_at = now(), tries = greatest(tries - 1, 0) WHERE transaction_id = $1 AND due_at = $2;
