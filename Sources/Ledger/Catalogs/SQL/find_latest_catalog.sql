SELECT version, document, sha256 FROM catalogs ORDER BY version DESC LIMIT 1;
