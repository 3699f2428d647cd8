import Foundation
import Postgres
import TestSupport
import Testing

extension EndToEnd {
    @Test(
        "`reconcile` exits with 0 if grants and sales report agree, else with 1, naming each difference or faulty line"
    )
    func reconciling() async throws {
        try await Testbed.run { bed in
            let entered = try await bed.query(
                """
                INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
                    submission_id, granted_at) VALUES
                ('1', 'p', 'com.example.castle', 'gold', 2, 'Production', '2026-11-20T20:00:00Z', 's', now()),
                ('2', 'p', 'com.example.castle', 'gold', 1, 'Production', '2026-11-20T21:00:00Z', 's', now())
                """
            ) { $0.affectedRows }
            #expect(entered == 2)
            func reconcile(_ units: String, _ more: [String] = []) async throws -> EndedProgram {
                let report = """
                    SKU\tProduct Type Identifier\tUnits\tBegin Date\tEnd Date
                    gold\tIA1\t\(units)\t11/20/2026\t11/20/2026
                    """
                return try await Program.run(
                    ["reconcile", "--report", "/dev/stdin"] + more, environment: bed.environment(), input: report)
            }
            let agreeing = try await reconcile("3")
            #expect(agreeing.code == 0 && agreeing.output == "1 products, 1 rows: all agree\n", "\(agreeing)")
            let differing = try await reconcile("5", ["--json"])
            #expect(differing.code == 1 && differing.output.contains(#""sold":5,"difference":-2"#), "\(differing)")
            let faulty = try await reconcile("few")
            #expect(faulty.code == 1 && faulty.errors.contains("line 2: Units is not a whole number"), "\(faulty)")
            #expect(try await reconcile("3", ["--time-zone", "Mars"]).code == 64)
            let twice = try await reconcile("3", ["--report", "/dev/stdin"])
            #expect(twice.code == 1 && twice.errors.contains("as another report does"), "\(twice)")
            let missing = try await Program.run(["reconcile", "--report", "/no/such"], environment: bed.environment())
            #expect(missing.code == 1 && missing.errors.contains("/no/such"), "\(missing)")
            #expect(try await Program.run(["reconcile"], environment: bed.environment()).code == 64)
        }
    }
}
