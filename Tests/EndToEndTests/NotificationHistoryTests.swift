import AppStoreSimulation
import EmbeddedPostgres
import Foundation
import Testing

@testable import Demo

@Suite("Apple's notification history, end to end", .wholeSystem)
struct NotificationHistoryTests {
    private static let app = ServerApp(bundleID: "com.example.history", appleID: 1_450_000_045)
    private static let gems = "\(app.bundleID).gems"
    /// The number of purchases. Their notifications fill ten pages.
    private static let purchases = 200

    @Test("if a worker dies while it reads the notification history, the next worker continues at the next page")
    func killed() async throws {
        try await ParkingBed.run(options: Self.app.configure) { bed in
            try await bed.importCatalog(bed.document + Self.app.catalog)
            try bed.apple.inStore { store in
                store.add(
                    SimulatedApp(
                        bundleID: Self.app.bundleID, appAppleID: Self.app.appleID, products: [.init(id: Self.gems)]))
                for number in 0..<Self.purchases {
                    let account = SimulatedAccount("player-\(number)", bundleID: Self.app.bundleID)
                    _ = try store.buy(Self.gems, by: account, SimulatedTerms(accountToken: ServerApp.token(number)))
                }
            }
            // Rounds are an hour apart, so the worker reads the history once. A second round would read the last hour
            // again.
            let settings = ServerApp.settings(["NOTIFICATION_HISTORY_SECONDS": "3600", "MISSED_PURCHASE_SECONDS": "0"])
            let first = try bed.startWorker(settings.merging(["RECEIPTD_CRASH_AFTER": "historyPageTaken:4"]) { $1 })
            try await bed.until("the first reader died") { !first.isRunning }
            let taken = try await bed.number("SELECT count(*) FROM notifications")
            #expect(taken >= 80, "\(taken) were taken before")
            _ = try await bed.number("UPDATE notification_history SET leased_until = '-infinity' RETURNING 1::int8")
            let port = try FreePort.find()
            _ = try bed.startWorker(settings.merging(["HTTP_PORT": "\(port)"]) { $1 })
            try await bed.until("everything is granted, each to its player") {
                (0..<Self.purchases).allSatisfy { bed.answers(ServerApp.token($0)) == ["receipt.granted"] }
            }
            let metrics = Scrape(try await HTTPProbe.get(port: port, "/metrics").body)
            let series = #"receiptd_notifications_total{type="ONE_TIME_CHARGE",result="#
            #expect(metrics[series + #""announced"}"#] ?? 0 > 0)
            #expect(metrics[series + #""duplicate"}"#] ?? 0 == 0, "the second reader began anew")
        }
    }
}
