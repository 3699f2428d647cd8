import AppStoreSimulation
import Foundation
import Fulfillment
import TestSupport
import Testing

@testable import Demo

/// Tests a held or announced purchase that kills each worker that judges it.
@Suite("Purchases that kill the process, end to end", .wholeSystem)
struct PoisonPurchaseTests {
    private static let roots = [
        "APPLE_ROOT_CERTIFICATES_FILE": Seeds.signing.appendingPathComponent("root.pem").path,
        "MISSED_PURCHASE_SECONDS": "1",
    ]

    private static func poisoned(by transaction: String) -> [String: String] {
        roots.merging(["RECEIPTD_CRASH_ON_TRANSACTION": transaction]) { $1 }
    }

    /// Starts a new worker after each death, until the condition is true. Returns the number of deaths and the last
    /// worker.
    private func restart(
        in bed: ParkingBed, poisonedBy transaction: String, leasesOf table: String,
        until isDone: () async throws -> Bool
    ) async throws -> (deaths: Int, last: WorkerProcess) {
        var worker = try bed.startWorker(Self.poisoned(by: transaction))
        var deaths = 0
        try await bed.until("it is set aside, and what was beside it is granted", seconds: 240) {
            if !worker.isRunning {
                deaths += 1
                // The update ends the lease now, instead of in some minutes.
                _ = try await bed.number(
                    """
                    WITH freed AS (UPDATE \(table) SET leased_until = now() - interval '1 second'
                        WHERE leased_until IS NOT NULL RETURNING transaction_id) SELECT count(*) FROM freed
                    """)
                worker = try bed.startWorker(Self.poisoned(by: transaction))
            }
            return try await isDone()
        }
        return (deaths, worker)
    }

    /// Publishes Apple's notification of a purchase of gems that was just made.
    private func announce(_ transaction: String, token: String, in bed: ParkingBed) async throws {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        var purchase = SimulatedPurchase(
            transactionID: transaction, productID: "\(ParkingBed.castle).gems.100", purchaseDateMilliseconds: now)
        purchase.appAccountToken = token
        let claims = SimulatedNotification.claims(
            of: purchase, bundleID: ParkingBed.castle, signedDateMilliseconds: now)
        try await bed.notify(
            SimulatedSigner(folder: Seeds.signing.path).notificationBody(
                SimulatedNotification(
                    type: "ONE_TIME_CHARGE", id: "charge-\(transaction)", bundleID: ParkingBed.castle,
                    appAppleID: 1_450_000_001, signedDateMilliseconds: now, transaction: claims)))
    }

    @Test(
        "an announced purchase that crashes workers stays unclaimed until an operator's retry, and delays no other",
        .takesLong)
    func announced() async throws {
        try await ParkingBed.run { bed in
            try await bed.importCatalog(
                bed.document.replacing(
                    "app_apple_id: 1450000001\n", with: "app_apple_id: 1450000001\n    missed_purchases: grant\n"))
            for number in 0..<4 {
                try await bed.account(ServerApp.token(number), isOf: "p-\(number)")
                try await announce("900\(number)", token: ServerApp.token(number), in: bed)
            }
            let crashed = "SELECT count(*) FROM announced_purchases WHERE state = 'unclaimed' AND reason = 'crashed'"
            let (deaths, worker) = try await restart(in: bed, poisonedBy: "9001", leasesOf: "announced_purchases") {
                guard [0, 2, 3].allSatisfy({ bed.answers("p-\($0)") == ["receipt.granted"] }) else { return false }
                return try await bed.number(crashed) == 1
            }
            #expect(deaths == 6, "\(deaths) deaths")
            #expect(worker.isRunning && bed.answers("p-1").isEmpty)
            try await bed.account(ServerApp.token(4), isOf: "p-4")
            try await announce("9004", token: ServerApp.token(4), in: bed)
            try await bed.until("a later one is granted") { bed.answers("p-4") == ["receipt.granted"] }
            #expect(worker.isRunning)
            let listed = try await bed.command(["unclaimed", "list", "--reason", "crashed"])
            #expect(listed.code == 0 && listed.output.contains("9001"), "\(listed)")
            await bed.kill(worker)
            _ = try bed.startWorker(Self.roots)
            let tried = try await bed.command(["unclaimed", "retry", "--all", "--reason", "crashed", "--dry-run"])
            #expect(tried.code == 0 && tried.output.hasPrefix("1 would be"), "\(tried)")
            let retried = try await bed.command(["unclaimed", "retry", "9001", "--operator", "ann"])
            #expect(retried.code == 0 && retried.output.hasPrefix("1 "), "\(retried)")
            try await bed.until("it is granted") { bed.answers("p-1") == ["receipt.granted"] }
            let again = try await bed.command(["unclaimed", "retry", "9001"])
            #expect(again.code == 1 && again.errors.contains("is not unclaimed"), "\(again)")
            let entered = "SELECT concat_ws('|', operator, change, subject, shown, result) FROM console_changes"
            #expect(try await bed.rows(entered) == ["ann|retry-unclaimed|9001|1|1 due now"])
        }
    }

    @Test(
        "a released hold that crashes workers stays held until its next release; the other released holds are granted",
        .takesLong)
    func held() async throws {
        try await ParkingBed.run { bed in
            let first = try bed.startWorker()
            for number in 1...3 {
                let receipt = ParkingBed.receipt("830\(number)", product: "\(ParkingBed.castle).comet.1")
                try await bed.submit("p-\(number)", receipt)
                try await bed.until("\(number) is held") {
                    bed.answers("p-\(number)") == ["receipt.held unknown_product"]
                }
            }
            await bed.kill(first)
            #expect(try await bed.holds("release", "--all").code == 0)
            let granted = ["receipt.held unknown_product", "receipt.granted"]
            let setAside = "SELECT count(*) FROM holds WHERE due_at IS NULL AND released_at IS NULL"
            let (deaths, worker) = try await restart(in: bed, poisonedBy: "8302", leasesOf: "holds") {
                guard bed.answers("p-1") == granted, bed.answers("p-3") == granted else { return false }
                return try await bed.number(setAside) == 1
            }
            #expect(deaths == 6, "\(deaths) deaths")
            #expect(worker.isRunning && bed.answers("p-2") == ["receipt.held unknown_product"])
            let listed = try await bed.holds("list")
            #expect(listed.output.contains("8302") && listed.output.contains("3 workers died"), "\(listed)")
            await bed.kill(worker)
            _ = try bed.startWorker(Self.roots)
            #expect(try await bed.holds("release", "8302").code == 0)
            try await bed.until("it is granted") { bed.answers("p-2") == granted }
        }
    }
}
