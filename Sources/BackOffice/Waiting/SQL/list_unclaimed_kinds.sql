-- Lists each app and reason of unclaimed purchases.
SELECT DISTINCT bundle_id, reason FROM announced_purchases WHERE state = 'unclaimed';
