SELECT EXISTS (SELECT FROM outcomes_default WHERE day = $1);
