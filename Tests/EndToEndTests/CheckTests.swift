import AppStoreSimulation
import Ledger
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("if Apple refuses an app's shared secret, `receiptd check` names the setting of the secret")
    func refusedSecret() async throws {
        try await Testbed.run { bed in
            let app = "com.example.castle.club"
            let line = "apple verifyReceipt, the shared secret of \(app): "
            let before = try await Program.run(["check"], environment: bed.environment())
            #expect(before.code == 0, "\(before)")
            #expect(
                before.output.contains(
                    "ok      \(line)SEEDS_SHARED_SECRET is set, but unchecked: Apple checks a secret only with a "
                        + "subscription's receipt"
                ),
                "\(before)")
            let receipt = Receipts.single("480000000000021", bundle: app)
            bed.apple.register(receiptData: receipt, behaviour: [.status(21004).times(1_000)])
            try await bed.run(
                """
                INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state, environment, revision,
                    updated_at, period_began_at)
                VALUES ('480000000000021', 'p', '\(app)', 'club', 'active', 'Production', 1, now(), now());
                INSERT INTO subscription_receipts (original_transaction_id, receipt)
                VALUES ('480000000000021', decode('\(receipt)', 'base64'))
                """)
            let refused = try await Program.run(["check"], environment: bed.environment())
            #expect(refused.code == 78, "\(refused)")
            #expect(
                refused.output.contains(
                    "FAILED  \(line)Apple refuses the secret (21004): SEEDS_SHARED_SECRET is another app's, or App "
                        + "Store Connect has a newer secret"), "\(refused)")
        }
    }

    @Test("if a newer release has migrated the schema, `receiptd check` warns, and an older worker still starts")
    func newerSchema() async throws {
        try await Testbed.run { bed in
            let known = Schema.currentVersion
            let before = try await Program.run(["check"], environment: bed.environment())
            #expect(before.output.contains("ok      postgresql: schema \(known), catalog "), "\(before)")
            try await bed.run("UPDATE schema_version SET version = version + 1")
            let check = try await Program.run(["check"], environment: bed.environment())
            // A worker works with the newer schema, so `check` exits 0.
            #expect(check.code == 0, "\(check)")
            let line = try #require(
                check.output.split(separator: "\n").first { $0.contains("  postgresql: ") }, "\(check)")
            #expect(line.hasPrefix("WARN    postgresql: schema \(known + 1), catalog "), "\(check)")
            #expect(
                line.contains(
                    "a newer release has migrated the database, and this release knows schema \(known)."), "\(check)")
            let worker = try bed.startWorker()
            try await eventually("ready") { await worker.isReady() }
        }
    }
}
