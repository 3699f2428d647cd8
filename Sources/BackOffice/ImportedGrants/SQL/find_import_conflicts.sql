-- Finds the lines whose transaction another player has, or whose period another transaction grants to another player.
SELECT line
FROM imported
JOIN grants USING (transaction_id)
WHERE grants.player_id <> imported.player_id
UNION
SELECT line
FROM imported
JOIN claims ON claims.original_transaction_id = imported.period_id
JOIN grants ON grants.transaction_id = claims.granted_transaction_id
WHERE grants.player_id <> imported.player_id
ORDER BY line;
