import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Kafka
import TestSupport
import Testing

@testable import Demo

@Suite("Announced purchases, end to end", .wholeSystem)
struct AnnouncedTests {
    private static let settings = [
        "APPLE_ROOT_CERTIFICATES_FILE": Seeds.signing.appendingPathComponent("root.pem").path,
        "MISSED_PURCHASE_SECONDS": "1",
    ]

    /// The number of purchases that a worker grants before the test kills and replaces the worker.
    private static let grantsOfAWorker = 100

    /// Returns Apple's notification of a purchase of gems that was made just now.
    private static func announcement(_ transaction: String, token: String) throws -> String {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        var purchase = SimulatedPurchase(
            transactionID: transaction, productID: "com.example.castle.gems.100", purchaseDateMilliseconds: now)
        purchase.appAccountToken = token
        return try SimulatedSigner(folder: Seeds.signing.path).notificationBody(
            SimulatedNotification(
                type: "ONE_TIME_CHARGE", id: "charge-\(transaction)", bundleID: ParkingBed.castle,
                appAppleID: 1_450_000_001, signedDateMilliseconds: now,
                transaction: SimulatedNotification.claims(
                    of: purchase, bundleID: ParkingBed.castle, signedDateMilliseconds: now)))
    }

    /// Imports the seeds' catalog with `missed_purchases: grant` for one app.
    private func grantMissedPurchases(in bed: ParkingBed) async throws {
        try await bed.importCatalog(
            bed.document.replacing(
                "app_apple_id: 1450000001\n", with: "app_apple_id: 1450000001\n    missed_purchases: grant\n"))
    }

    @Test("if clients die after paying, and workers are killed, receiptd grants each announced purchase exactly once")
    func clientsDie() async throws {
        try await ParkingBed.run { bed in
            try await grantMissedPurchases(in: bed)
            var doomed: [WorkerProcess] = []
            for point in ["delivered", "deliveryPublished"] {
                doomed.append(try bed.startWorker(Self.settings.merging(["RECEIPTD_CRASH_AFTER": point]) { $1 }))
            }
            let numbers = Array(0..<TestScale.number("KILLED_CLIENTS", or: 40))
            let seconds = TestScale.seconds(for: numbers.count)
            for number in numbers {
                try await bed.account(ServerApp.token(number), isOf: "p-\(number)")
                try await bed.notify(Self.announcement(String(9_000_000 + number), token: ServerApp.token(number)))
            }
            // Every fourth client submits immediately, perhaps before a worker delivers the purchase. Others submit
            // after the deliveries.
            for number in numbers where number % 4 == 0 {
                try await bed.submit("p-\(number)", ParkingBed.receipt(String(9_000_000 + number)))
            }
            try await bed.until("a worker dies of a delivery") { doomed.contains { !$0.isRunning } }
            let granted = "SELECT count(*) FROM grants"
            for kill in 0..<numbers.count / Self.grantsOfAWorker {
                let worker = try bed.startWorker(Self.settings)
                try await bed.until("this worker grants too", seconds: seconds) {
                    try await bed.number(granted) >= (kill + 1) * Self.grantsOfAWorker
                }
                await bed.kill(worker)
            }
            _ = try bed.startWorker(Self.settings)
            try await bed.until("all are granted", seconds: seconds) {
                try await bed.number(granted) == numbers.count
            }
            for number in numbers where number % 4 == 1 {
                try await bed.submit(
                    "late-\(number)", ParkingBed.receipt(String(9_000_000 + number)), player: "p-\(number)")
            }
            for number in numbers {
                try await bed.until("p-\(number) is told of it") {
                    bed.answers("p-\(number)").contains("receipt.granted")
                }
                let answers = bed.answers("p-\(number)")
                #expect(answers.count { $0 == "receipt.granted" } == 1, "\(number): \(answers)")
            }
            for number in numbers where number % 4 == 1 {
                // The rejection may come before the grant's event: if a worker died after the grant's COMMIT, another
                // worker publishes that event later.
                try await bed.until("a late submission is answered") {
                    bed.answers("p-\(number)").contains("receipt.rejected already_granted")
                }
            }
            try await bed.until("nothing is owed") { try await bed.number("SELECT count(*) FROM outbox") == 0 }
            let open = "SELECT count(*) FROM announced_purchases WHERE state NOT IN ('granted', 'claimed')"
            #expect(try await bed.number(open) == 0)
            #expect(try await bed.number("SELECT count(*) FROM announced_purchases") == numbers.count)
        }
    }

    @Test("receiptd lists an announced purchase of an unknown player, and grants the purchase once the player is known")
    func listed() async throws {
        try await ParkingBed.run { bed in
            try await grantMissedPurchases(in: bed)
            let worker = try bed.startWorker(Self.settings)
            try await bed.notify(Self.announcement("9100", token: ServerApp.token(100)))
            try await bed.until("it is unclaimed") {
                try await bed.number("SELECT count(*) FROM announced_purchases WHERE state = 'unclaimed'") == 1
            }
            let list = try await bed.command(["unclaimed", "list"])
            #expect(list.code == 0 && list.output.contains("9100") && list.output.contains("unknown_player"))
            let json = try await bed.command(["unclaimed", "list", "--json", "--reason", "unknown_player"]).output
            let document = try JSONParser.parse(Array(json.utf8)).value
            #expect(document["unclaimed"]?.array?.first?["submission_id"]?.string == "apple-charge-9100")
            #expect(!json.contains(ServerApp.token(100)) && !list.output.contains(ServerApp.token(100)))
            let inspected = try await bed.command(["inspect", "9100", "--json"]).output
            #expect(inspected.contains("announced") && !inspected.contains(ServerApp.token(100)))
            try await bed.account(ServerApp.token(100), isOf: "p-100")
            try await bed.until("it is granted") { bed.answers("p-100") == ["receipt.granted"] }
            #expect(try await bed.command(["unclaimed", "list"]).output.contains("nothing is unclaimed"))
            worker.terminate()
            #expect(try await blocking { worker.wait() } == 0)
            let log = (try? String(contentsOf: worker.logFile, encoding: .utf8)) ?? ""
            #expect(!log.contains(ServerApp.token(100)))
        }
    }
}
