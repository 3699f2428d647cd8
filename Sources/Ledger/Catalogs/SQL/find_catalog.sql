SELECT version, document, imported_at FROM catalogs WHERE version = $1;
