SELECT drop_outcomes_day($1::date);
