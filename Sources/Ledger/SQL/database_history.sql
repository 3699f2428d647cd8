-- See the function in schema.sql: every statement that answers with a history calls it.
SELECT database_history();
