-- Lines whose transaction is another player's.
SELECT line
FROM imported
JOIN grants USING (transaction_id)
WHERE grants.player_id <> imported.player_id
ORDER BY line;
