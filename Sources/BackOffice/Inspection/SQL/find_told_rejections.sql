-- Finds the transaction whose hold an operator ended with this event.
-- $1 the event; $2 days back; $3 how many of the newest decisions to search
SELECT transaction_id
FROM (SELECT transaction_id, event_id, decided_at FROM hold_decisions ORDER BY id DESC LIMIT $3) AS newest
WHERE event_id = $1 AND decided_at >= now() - make_interval(days => $2);
