import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import TestSupport
import Testing

@testable import Demo

@Suite("Finishing transactions at Apple, and answering Apple's refund requests, end to end", .wholeSystem)
struct AppleToldTests {
    private static let app = "com.example.castle.server"
    private static let gems = "com.example.castle.gems.100"
    private static let lena = SimulatedAccount("lena", bundleID: app)
    private static let settings = DemoRun.settings(signing: Seeds.signing)

    /// Buys and submits a purchase for `p-1`. For this app, workers finish purchases at Apple and answer refund
    /// requests.
    private func buy(in bed: ParkingBed) async throws -> String {
        let id = try await pay(in: bed)
        try await bed.submit(signedTransaction: bed.apple.signedTransaction(id), player: "p-1", bundle: Self.app)
        return id
    }

    /// Imports the catalog for this app, makes a purchase, and returns the purchase's transaction id.
    /// - Parameter isRetired: true if the catalog rejects the product as retired.
    private func pay(in bed: ParkingBed, isRetired: Bool = false) async throws -> String {
        var document = bed.document.replacing(
            "      private_key_setting: SEEDS_SERVER_API_KEY\n",
            with: """
                      private_key_setting: SEEDS_SERVER_API_KEY
                    finish: after_grant
                    consumption: { customer_consented: true, refund_preference: decline }

                """)
        if isRetired {
            document = document.replacing(
                "    refund_check: on\n    products:\n      - product_id: \(Self.gems)\n",
                with: """
                        products:
                          - product_id: \(Self.gems)
                            status: retired
                            on_retired: reject

                    """)
        }
        try await bed.importCatalog(document)
        return try bed.apple.inStore { store in
            store.add(
                SimulatedApp(
                    bundleID: Self.app, appAppleID: 1_450_000_008, products: [SimulatedProduct(id: Self.gems)]))
            return try store.buy(Self.gems, by: Self.lena).id
        }
    }

    /// Ends the leases of all deliveries and refund requests that a worker has tried.
    private func endLeases(in bed: ParkingBed) async throws {
        for table in ["finishes", "refund_requests"] {
            _ = try await bed.number(
                "WITH due AS (UPDATE \(table) SET due_at = now() WHERE tries > 0 AND due_at IS NOT NULL RETURNING 1) SELECT count(*) FROM due"
            )
        }
    }

    private func isFinished(_ id: String, in bed: ParkingBed) async throws -> Bool {
        try await bed.number("SELECT count(*) FROM finishes WHERE transaction_id = '\(id)' AND result = 'finished'")
            == 1
    }

    private func isAnswered(_ id: String, in bed: ParkingBed) async throws -> Bool {
        let sql = "SELECT count(*) FROM refund_requests WHERE transaction_id = '\(id)' AND result = 'accepted'"
        return try await bed.number(sql) == 1
    }

    private func requestRefund(of id: String, in bed: ParkingBed) async throws {
        let told = bed.apple.notifications().count
        try bed.apple.inStore { try $0.requestRefund(of: id) }
        for notification in bed.apple.notifications(from: told) { try await bed.notify(notification.body) }
    }

    @Test(
        "after a grant is published, workers finish the transaction at Apple, even after a crash or Apple's outage",
        arguments: [nil, "finishTold", "outage"])
    func finished(_ trouble: String?) async throws {
        try await ParkingBed.run { bed in
            if trouble == "outage" { bed.apple.setBehaviour([.http(503)], of: .finish) }
            let crash = trouble == "finishTold" ? ["RECEIPTD_CRASH_AFTER": "finishTold"] : [:]
            let first = try bed.startWorker(Self.settings.merging(crash) { $1 })
            let id = try await buy(in: bed)
            try await bed.until("it is granted") { bed.answers("p-1").contains("receipt.granted") }
            if trouble == "finishTold" {
                try await bed.until("the worker dies") { !first.isRunning }
                #expect(bed.apple.inStore { $0.transactions[id]?.isFinished } == true)
                _ = try bed.startWorker(Self.settings)
            } else if trouble == "outage" {
                try await bed.until("it was tried") { try await bed.number("SELECT sum(tries) FROM finishes") > 0 }
                #expect(bed.apple.inStore { $0.transactions[id]?.isFinished } == false)
                bed.apple.setBehaviour(nil, of: .finish)
            }
            try await bed.until("it is finished") {
                // For every other `trouble` the retry settings decide when the next try comes.
                if trouble == "finishTold" { try await endLeases(in: bed) }
                return try await isFinished(id, in: bed)
            }
            #expect(bed.apple.inStore { $0.transactions[id]?.isFinished } == true)
            #expect(try await bed.command(["inspect", id]).output.contains("finishes (1)"))
        }
    }

    @Test("the worker publishes Apple's refund request, and answers it once the game server reports the consumption")
    func answered() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(Self.settings)
            let id = try await buy(in: bed)
            try await bed.until("it is granted, and that is out") {
                try await bed.number("SELECT count(*) FROM grants WHERE NOT EXISTS (SELECT FROM outbox)") == 1
            }
            try await requestRefund(of: id, in: bed)
            try await bed.until("it is told of") { bed.answers("p-1").contains("refund.requested") }
            let event = bed.outcomes.collected.events["p-1"]?.last { $0["type"]?.string == "refund.requested" }
            #expect(event?["transaction_id"]?.string == id)
            #expect(event?["request_reason"]?.string == "UNINTENDED_PURCHASE")
            try await bed.report(#"{"transaction_id":"\#(id)"}"#, of: id)
            try await bed.report(
                #"{"transaction_id":"\#(id)","bundle_id":"\#(Self.app)","consumption_percentage":25000}"#, of: id)
            try await bed.until("it is answered") { try await isAnswered(id, in: bed) }
            let told = bed.apple.inStore { $0.consumption[id] ?? [] }
            #expect(told.map(\.deliveryStatus) == ["DELIVERED"] && told.map(\.consumptionPercentage) == [25_000])
            #expect(told.map(\.refundPreference) == ["DECLINE"])
            try await bed.until("what is no report is a dead letter") {
                bed.outcomes.collected.deadLetters[id]?.count == 1
            }
            #expect(try await bed.command(["inspect", id]).output.contains("refund requests (1)"))
        }
    }

    @Test(
        "if Apple's refund request precedes the submission, workers publish and answer the request after the decision",
        arguments: [false, true])
    func early(isRefused: Bool) async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(Self.settings.merging(["CONSUMPTION_WAIT_SECONDS": "0"]) { $1 })
            let id = try await pay(in: bed, isRetired: isRefused)
            try await requestRefund(of: id, in: bed)
            try await bed.until("it is stored") {
                try await bed.number("SELECT count(*) FROM refund_requests WHERE player_id IS NULL") == 1
            }
            try await bed.submit(signedTransaction: bed.apple.signedTransaction(id), player: "p-1", bundle: Self.app)
            try await bed.until("it is decided") {
                bed.answers("p-1").contains(isRefused ? "receipt.rejected retired_product" : "receipt.granted")
            }
            // The update makes every lease end now, instead of in a minute.
            try await bed.until("it is answered") {
                _ = try await bed.number(
                    "WITH due AS (UPDATE refund_requests SET due_at = now() WHERE due_at IS NOT NULL RETURNING 1) SELECT count(*) FROM due"
                )
                return try await isAnswered(id, in: bed)
            }
            let told = bed.apple.inStore { $0.consumption[id] ?? [] }
            #expect(Set(told.map(\.deliveryStatus)) == [isRefused ? "UNDELIVERED_OTHER" : "DELIVERED"])
            #expect(Set(told.map(\.refundPreference)) == [isRefused ? nil : "DECLINE"])
            try await bed.until("it is told of") { bed.answers("p-1").contains("refund.requested") }
        }
    }

    @Test(
        "if a worker dies after it answered a refund request, the next worker repeats the answer and closes the request"
    )
    func killed() async throws {
        try await ParkingBed.run { bed in
            let doomed = try bed.startWorker(
                Self.settings.merging(["RECEIPTD_CRASH_AFTER": "consumptionTold", "CONSUMPTION_WAIT_SECONDS": "0"]) {
                    $1
                })
            let id = try await buy(in: bed)
            try await bed.until("it is granted, and that is out") {
                try await bed.number("SELECT count(*) FROM grants WHERE NOT EXISTS (SELECT FROM outbox)") == 1
            }
            try await requestRefund(of: id, in: bed)
            try await bed.until("the worker dies") { !doomed.isRunning }
            #expect(bed.apple.inStore { $0.consumption[id]?.count } == 1)
            _ = try bed.startWorker(Self.settings)
            try await bed.until("it is answered") {
                try await endLeases(in: bed)
                return try await isAnswered(id, in: bed)
            }
            #expect(bed.apple.inStore { Set($0.consumption[id] ?? []).count } == 1)
            // The dead worker may have left the event unpublished in the outbox.
            try await bed.until("it is told of") { bed.answers("p-1").contains("refund.requested") }
            let events = bed.outcomes.collected.events["p-1"] ?? []
            let requested = events.filter { $0["type"]?.string == "refund.requested" }
            #expect(Set(requested.map { "\($0)" }).count == 1)
        }
    }
}
