-- Finds the lines whose transaction belongs to another player, or whose period is granted to another player.
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
