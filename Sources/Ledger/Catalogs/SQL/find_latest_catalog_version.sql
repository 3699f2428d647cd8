SELECT max(version) AS version FROM catalogs;
