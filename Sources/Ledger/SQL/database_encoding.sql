SELECT current_database()::text, getdatabaseencoding()::text;
