-- Its wait has ended. $1 transaction
DELETE FROM holds WHERE transaction_id = $1;
