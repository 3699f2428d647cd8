-- The server's own clock, now and not at the beginning of the transaction.
SELECT clock_timestamp();
