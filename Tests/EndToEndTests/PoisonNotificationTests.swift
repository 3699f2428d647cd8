import AppStoreSimulation
import Foundation
import Fulfillment
import Kafka
import Testing

@testable import Demo

/// Tests a notification that kills each worker that reads it, on the topic and in Apple's notification history.
@Suite("Notifications that kill the process, end to end", .wholeSystem)
struct PoisonNotificationTests {
    private static let app = ServerApp(bundleID: "com.example.poison", appleID: 1_450_000_043)
    private static let gems = "\(app.bundleID).gems"
    private static let settings = ServerApp.settings(["MISSED_PURCHASE_SECONDS": "1"])

    /// Makes one purchase for each of three players. Returns Apple's notifications. In the tests the second
    /// notification kills workers.
    private static func buy(in bed: ParkingBed) throws -> [SignedNotification] {
        let first = bed.apple.notifications().count
        try bed.apple.inStore { store in
            store.add(SimulatedApp(bundleID: app.bundleID, appAppleID: app.appleID, products: [.init(id: gems)]))
            for number in 0..<3 {
                let account = SimulatedAccount("player-\(number)", bundleID: app.bundleID)
                _ = try store.buy(gems, by: account, SimulatedTerms(accountToken: ServerApp.token(number)))
            }
        }
        return bed.apple.notifications(from: first)
    }

    private static func isGranted(_ numbers: [Int], in bed: ParkingBed) -> Bool {
        numbers.allSatisfy { bed.answers(ServerApp.token($0)).contains("receipt.granted") }
    }

    /// Starts a new worker after each death, until the condition is true. Returns the number of deaths and the last
    /// worker.
    private func restart(
        in bed: ParkingBed, _ settings: [String: String], after death: () async throws -> Void = {},
        until isDone: @escaping () async throws -> Bool
    ) async throws -> (deaths: Int, last: WorkerProcess) {
        var worker = try bed.startWorker(settings)
        var deaths = 0
        try await bed.until("what is beside the poison is done", seconds: 300) {
            if !worker.isRunning {
                deaths += 1
                try await death()
                worker = try bed.startWorker(settings)
            }
            return try await isDone()
        }
        return (deaths, worker)
    }

    @Test(
        "of the notifications on the topic, only the notification that crashes workers becomes a dead letter",
        .takesLong)
    func topic() async throws {
        try await ParkingBed.run(options: Self.app.configure) { bed in
            try await bed.importCatalog(bed.document + Self.app.catalog)
            let told = try Self.buy(in: bed)
            for one in told { try await bed.notify(one.body) }
            for number in 0..<20 { try await bed.submit("s-\(number)", ParkingBed.receipt(String(9_500 + number))) }
            let settings = Self.settings.merging([
                "RECEIPTD_CRASH_ON_NOTIFICATION": told[1].id, "NOTIFICATION_HISTORY_SECONDS": "0",
            ]) { $1 }
            let (deaths, worker) = try await restart(in: bed, settings) {
                Self.isGranted([0, 2], in: bed) && bed.answers("s-19").contains("receipt.granted")
                    && !bed.outcomes.collected.deadLetters.isEmpty
            }
            #expect(deaths >= 6 && deaths <= 9, "\(deaths) deaths")
            for number in 0..<20 {
                try await bed.until("s-\(number) is granted") { bed.answers("s-\(number)") == ["receipt.granted"] }
            }
            let letters = bed.outcomes.collected.deadLetters.values.flatMap(\.self)
            #expect(letters.map(\.value) == [Array(told[1].body.utf8)])
            #expect(letters.first?.headers.contains { $0.value == Array("crashed".utf8) } == true)
            try await bed.submit("s-50", ParkingBed.receipt("9550"))
            try await bed.until("a later submission is answered") { bed.answers("s-50") == ["receipt.granted"] }
            #expect(worker.isRunning)
        }
    }

    @Test(
        "a notification in Apple's history that crashes workers becomes one dead letter, and workers read the rest",
        .takesLong)
    func history() async throws {
        try await ParkingBed.run(options: Self.app.configure) { bed in
            try await bed.importCatalog(bed.document + Self.app.catalog)
            let told = try Self.buy(in: bed)
            let settings = Self.settings.merging([
                "RECEIPTD_CRASH_ON_NOTIFICATION": told[1].id, "NOTIFICATION_HISTORY_SECONDS": "1",
            ]) { $1 }
            let expire = "UPDATE notification_history SET leased_until = '-infinity' RETURNING 1::int8"
            let (deaths, worker) = try await restart(
                in: bed, settings, after: { _ = try await bed.number(expire) },
                until: { Self.isGranted([0, 2], in: bed) })
            // A worker makes progress if it reads a part of the history before the notification. So more workers die
            // before one isolates the notification.
            #expect(deaths >= 6 && deaths <= 12, "\(deaths) deaths")
            let rounds =
                "SELECT count(*) FROM notification_history WHERE bundle_id = '\(Self.app.bundleID)' AND starts = 0"
            for _ in 0..<2 {
                try await bed.until("a round is over") { try await bed.number(rounds) >= 1 }
                _ = try await bed.number("UPDATE notification_history SET due_at = now() RETURNING 1::int8")
            }
            #expect(worker.isRunning)
            try await bed.until("the dead letter is out") { !bed.outcomes.collected.deadLetters.isEmpty }
            #expect(bed.outcomes.collected.deadLetters.values.flatMap(\.self).count == 1)
            #expect(try await bed.number("SELECT count(*) FROM grants") == 2)
        }
    }
}
