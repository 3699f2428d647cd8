SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = $1);
