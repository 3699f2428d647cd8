import Postgres

/// Records every parked submission, because the contract promises no order for parked submissions.
extension Testbed {
    func recordParked() async throws {
        try await run(
            """
            CREATE TABLE parked_once (submission_id text NOT NULL);
            CREATE FUNCTION record_parked() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN INSERT INTO parked_once VALUES (NEW.submission_id); RETURN NULL; END $$;
            CREATE TRIGGER record_parked AFTER INSERT ON parked FOR EACH ROW EXECUTE FUNCTION record_parked();
            """)
    }

    func parkedOnce() async throws -> Set<String> {
        try await query("SELECT DISTINCT submission_id FROM parked_once") { rows in
            Set((0..<rows.count).compactMap { rows.text($0, 0) })
        }
    }
}
