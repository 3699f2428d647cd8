SELECT has_table_privilege('outcomes', 'DELETE') AND has_function_privilege('drop_outcomes_day(date)', 'EXECUTE');
