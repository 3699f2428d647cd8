SELECT max(version) FROM catalogs;
