import AppStoreSimulation
import Foundation
import Fulfillment
import Testing

@testable import Demo

/// Sends more refunds than a studio sees in a year, twice and out of order, on the topic and in Apple's history.
@Suite("Many refunds in a short time, end to end", .wholeSystem)
struct RefundStormTests {
    private static let app = ServerApp(bundleID: "com.example.storm", appleID: 1_450_000_044)
    private static let gems = "\(app.bundleID).gems"
    private static let settings = ServerApp.settings([
        "MISSED_PURCHASE_SECONDS": "0", "NOTIFICATION_HISTORY_SECONDS": "2",
    ])
    /// The most notifications on the topic that workers have not processed.
    private static let mostBehind = 2000

    /// Makes purchases, refunds half of them, and reverses a quarter of the refunds. Returns the notifications, and the
    /// transactions that must have a valid grant.
    private static func life(_ purchases: Int, in bed: ParkingBed) throws -> (
        told: [SignedNotification], kept: Set<String>
    ) {
        let first = bed.apple.notifications().count
        let kept = try bed.apple.inStore { store in
            store.add(SimulatedApp(bundleID: app.bundleID, appAppleID: app.appleID, products: [.init(id: gems)]))
            var kept: Set<String> = []
            for number in 0..<purchases {
                let account = SimulatedAccount("player-\(number % 50)", bundleID: app.bundleID)
                let bought = try store.buy(
                    gems, by: account, SimulatedTerms(accountToken: ServerApp.token(number % 50)))
                kept.insert(bought.id)
                guard number % 2 == 0 else { continue }
                store.now += 1
                try store.refund(bought.id)
                guard number % 8 == 0 else {
                    kept.remove(bought.id)
                    continue
                }
                store.now += 1
                try store.reverseRefund(of: bought.id)
            }
            return kept
        }
        return (bed.apple.notifications(from: first), kept)
    }

    @Test("if refunds and reversals come twice, in any order, and a worker is killed, the grants match Apple's records")
    func storm() async throws {
        let purchases = TestScale.number("REFUND_STORM", or: 300)
        try await ParkingBed.run(options: Self.app.configure) { bed in
            try await bed.importCatalog(bed.document + Self.app.catalog)
            // From now on workers grant the app's missed purchases.
            var workers = [try bed.startWorker(Self.settings), try bed.startWorker(Self.settings)]
            try await bed.until("the app's purchases are delivered from now on") {
                try await bed.number(
                    "SELECT count(*) FROM missed_purchase_grants WHERE bundle_id = '\(Self.app.bundleID)'") == 1
            }
            let began = ContinuousClock.now
            let (told, kept) = try Self.life(purchases, in: bed)
            // Every tenth notification is only in Apple's history. The other notifications come twice, in random order.
            let sent = told.enumerated().filter { $0.offset % 10 != 0 }.map(\.element.body)
            for (place, body) in (sent + sent).shuffled().enumerated() {
                // The in-process broker keeps only five megabytes of a partition.
                if place % 500 == 0 {
                    try await bed.until("the workers follow") {
                        try await bed.parts.notificationsDone(in: bed.pool) >= place - Self.mostBehind
                    }
                }
                try await bed.notify(body)
                if place == sent.count { await bed.kill(workers.removeFirst()) }
            }
            workers.append(try bed.startWorker(Self.settings))
            _ = try await bed.number("UPDATE notification_history SET leased_until = '-infinity' RETURNING 1::int8")
            let inForce = "SELECT transaction_id FROM grants WHERE revoked_at IS NULL"
            try await bed.until("what is in force is what the store has", seconds: TestScale.seconds(for: told.count)) {
                try await Set(bed.rows(inForce)) == kept
            }
            try await bed.until("nothing is owed") { try await bed.number("SELECT count(*) FROM outbox") == 0 }
            #expect(try await Set(bed.rows(inForce)) == kept)
            let took = ContinuousClock.now - began
            let peaks = workers.compactMap { ProcessMemory.highestMegabytes(of: $0.processID) }
            print("storm: \(told.count) notifications, \(sent.count * 2) records, \(took), peaks of \(peaks) MB")
        }
    }
}
