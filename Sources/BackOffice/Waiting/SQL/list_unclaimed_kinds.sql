-- Each app and reason of what is unclaimed.
SELECT DISTINCT bundle_id, reason FROM announced_purchases WHERE state = 'unclaimed';
