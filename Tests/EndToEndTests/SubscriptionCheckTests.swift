import Crypto
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("if `subscriptions check` cannot ask Apple, it exits with 1, 78 or 69 by the cause, and leaves no lease")
    func subscriptionCheck() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID().uuidString).p8")
        defer { try? FileManager.default.removeItem(at: file) }
        try P256.Signing.PrivateKey().pemRepresentation.write(to: file, atomically: true, encoding: .utf8)
        try await Testbed.run { bed in
            let apps = [
                "7701": "com.example.castle", "7702": "com.example.castle.server", "7703": "com.example.unknown",
            ]
            for (original, app) in apps {
                _ = try await bed.query(
                    """
                    INSERT INTO subscriptions (original_transaction_id, player_id, bundle_id, product_id, state,
                        environment, revision, updated_at, period_began_at)
                    VALUES ('\(original)', 'p-\(original)', '\(app)', 'pass', 'active', 'Production', 1, now(), now())
                    """
                ) { _ in }
            }
            func expect(_ code: Int32, _ text: String, of original: String, _ more: [String: String] = [:]) async throws
            {
                let ending = try await Program.run(
                    ["subscriptions", "check", original], environment: bed.environment(more))
                #expect(ending.code == code && ending.errors.contains(text), "\(original): \(ending)")
                let leased = "SELECT count(*) FROM subscriptions WHERE leased_until IS NOT NULL OR takes > 0"
                #expect(try await bed.query(leased) { $0.int8(0, 0) } == 0, "\(original) is still leased")
            }
            let nowhere = "http://127.0.0.1:9"
            try await expect(1, "knows no subscription", of: "7799")
            try await expect(1, "cannot ask Apple", of: "7701")
            try await expect(1, "the catalog does not have the subscription's app", of: "7703")
            try await expect(78, "not set (server_api)", of: "7702", ["SEEDS_SERVER_API_KEY_FILE": file.path])
            try await expect(
                78, "not set (server_api)", of: "7702", ["SEEDS_SERVER_API_KEY_FILE": file.path + "-missing"])
            try await expect(
                69, "Apple gives no answer", of: "7702",
                ["APPLE_SERVER_API_PRODUCTION_URL": nowhere, "APPLE_SERVER_API_SANDBOX_URL": nowhere])
            _ = try await bed.query("UPDATE catalogs SET document = 'apps: none'") { _ in }
            try await expect(1, "must be a list", of: "7702")
        }
    }
}
