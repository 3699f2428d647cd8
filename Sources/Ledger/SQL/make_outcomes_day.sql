SELECT make_outcomes_day($1::date);
