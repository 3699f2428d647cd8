-- $1 document; $2 its SHA-256
INSERT INTO catalogs (document, sha256) VALUES ($1, $2) RETURNING version;
