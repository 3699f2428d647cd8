import AppStoreSimulation
import TestSupport
import Testing

@testable import Demo

/// Runs a worker with default settings while the App Store answers only some requests. The other requests get no useful
/// answer until the test ends. So a test fails if the worker lets other purchases wait for them.
@Suite("Partial outages of Apple, end to end", .wholeSystem)
struct PartialOutageTests {
    private static let defaults = [
        "RETRY_INITIAL_DELAY_SECONDS": "0.5", "RETRY_MAX_DELAY_SECONDS": "300", "RETRY_PARK_AFTER_SECONDS": "30",
        "APPLE_MAX_CONCURRENCY": "256", "MAX_IN_FLIGHT": "2000",
    ]

    @Test(
        "if Apple answers 21009 for 20 or 40 % of the receipts, the worker grants all other purchases",
        arguments: [20, 40])
    func some(percent: Int) async throws {
        try await ParkingBed.run(latency: .fixed(50)) { bed in
            _ = try bed.startWorker(Self.defaults)
            var healthy: [String] = []
            for number in 0..<200 {
                let receipt = ParkingBed.receipt("8\(1000 + number)")
                let player = "p-\(number)"
                // The failing receipts are spread evenly, but not at every n-th place.
                if (number * 37) % 100 < percent {
                    bed.apple.register(receiptData: receipt, behaviour: [.status(21009).times(1_000_000)])
                } else {
                    healthy.append(player)
                }
                try await bed.submit(player, receipt)
            }
            try await bed.until("every healthy one is granted") {
                healthy.allSatisfy { bed.answers($0) == ["receipt.granted"] }
            }
            #expect(healthy.count == 2 * (100 - percent))
            let parked = try await bed.number("SELECT count(*) FROM parked")
            #expect(parked <= Int64(200 - healthy.count))
        }
    }

    @Test(
        "the worker parks 120 receipts that Apple always answers with 21005, and grants later players' purchases",
        .takesLong)
    func stuckPlayers() async throws {
        try await ParkingBed.run(latency: .fixed(50)) { bed in
            _ = try bed.startWorker(Self.defaults)
            for number in 0..<120 {
                let receipt = ParkingBed.receipt("7\(1000 + number)")
                bed.apple.register(receiptData: receipt, behaviour: [.status(21005).times(1_000_000)])
                try await bed.submit("p-stuck-\(number)", receipt)
            }
            for number in 0..<228 { try await bed.submit("p-\(number)", ParkingBed.receipt("8\(1000 + number)")) }
            try await bed.until("everybody else is granted") {
                (0..<228).allSatisfy { bed.answers("p-\($0)") == ["receipt.granted"] }
            }
            try await bed.until("those are parked") {
                try await bed.number("SELECT count(*) FROM parked WHERE reason = 'apple_trouble'") == 120
            }
            #expect(bed.answers("p-stuck-0").isEmpty)
        }
    }

    /// If the failing receipts kept their places, they would fill the window and open the circuit. Apple never gives a
    /// useful answer about them.
    @Test(
        "if Apple always answers 21005 for sixty receipts, a worker with MAX_IN_FLIGHT 24 still grants other purchases")
    func stuckWindow() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(Self.defaults.merging(["MAX_IN_FLIGHT": "24"]) { $1 })
            for number in 0..<60 {
                let receipt = ParkingBed.receipt("7\(1000 + number)")
                bed.apple.register(receiptData: receipt, behaviour: [.status(21005).times(1_000_000)])
                try await bed.submit("p-stuck-\(number)", receipt)
            }
            for number in 0..<20 { try await bed.submit("p-\(number)", ParkingBed.receipt("8\(1000 + number)")) }
            try await bed.until("everybody else is granted") {
                (0..<20).allSatisfy { bed.answers("p-\($0)") == ["receipt.granted"] }
            }
            #expect(try await bed.number("SELECT count(*) FROM parked") >= 60 - 24)
        }
    }

    @Test(
        "once Apple answers again, the worker grants the purchases of forty parked submissions within a minute",
        .takesLong)
    func recovered() async throws {
        try await ParkingBed.run(latency: .fixed(20)) { bed in
            let settings = ["RETRY_PARK_AFTER_SECONDS": "1", "RETRY_MAX_DELAY_SECONDS": "300"]
            _ = try bed.startWorker(Self.defaults.merging(settings) { $1 })
            let failing = (0..<40).map { ParkingBed.receipt("9\(1000 + $0)") }
            for (number, receipt) in failing.enumerated() {
                bed.apple.register(receiptData: receipt, behaviour: [.status(21009).times(1_000_000)])
                try await bed.submit("p-failing-\(number)", receipt)
                try await bed.submit("p-\(number)", ParkingBed.receipt("8\(1000 + number)"))
            }
            // After so many failures, some submissions are due only minutes later.
            try await bed.until("each has been asked for many times") {
                try await bed.number("SELECT count(*) FROM parked WHERE parkings >= 5") == 40
            }
            for receipt in failing { bed.apple.register(receiptData: receipt, behaviour: nil) }
            try await bed.until("all are granted", seconds: 60) {
                (0..<40).allSatisfy { bed.answers("p-failing-\($0)") == ["receipt.granted"] }
            }
        }
    }

    @Test("parked unproven proofs stay within PARKED_UNPROVEN_MEGABYTES; the worker rejects further unproven proofs")
    func fleetBound() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(["RETRY_PARK_AFTER_SECONDS": "0", "PARKED_UNPROVEN_MEGABYTES": "1"])
            // The worker removes the white space from the receipt before it asks Apple.
            let filling = String(repeating: " ", count: 200_000)
            for number in 0..<8 {
                let receipt = ParkingBed.receipt("6\(1000 + number)")
                bed.apple.register(receiptData: receipt, behaviour: [.status(21009).times(1_000_000)])
                try await bed.submit("p-\(number)", receipt + filling)
            }
            try await bed.until("each is parked or answered") {
                let refused = (0..<8).count { bed.answers("p-\($0)") == ["receipt.rejected too_many_waiting"] }
                return try await Int64(refused) + bed.number("SELECT count(*) FROM parked") == 8
            }
            #expect(try await bed.number("SELECT sum(bytes)::bigint FROM parked_weights") <= 1_000_000)
            #expect(try await bed.number("SELECT count(*) FROM parked") >= 1)
        }
    }

    @Test("the worker parks 20 unproven proofs of a player, rejects one more, and grants it when it is submitted later")
    func tooManyWaiting() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(["RETRY_PARK_AFTER_SECONDS": "0"])
            let receipts = (0..<21).map { ParkingBed.receipt("6\(1000 + $0)") }
            for receipt in receipts {
                bed.apple.register(receiptData: receipt, behaviour: [.status(21009).times(1_000_000)])
            }
            for (number, receipt) in receipts.enumerated() {
                try await bed.submit("p-\(number)", receipt, player: "hog")
            }
            try await bed.until("one is answered") { bed.answers("hog") == ["receipt.rejected too_many_waiting"] }
            #expect(try await bed.number("SELECT count(*) FROM parked WHERE player_id = 'hog'") == 20)
            for receipt in receipts { bed.apple.register(receiptData: receipt, behaviour: nil) }
            #expect(try await bed.parked("retry", "--all").code == 0)
            try await bed.until("the others are granted") {
                try await bed.number("SELECT count(*) FROM grants WHERE player_id = 'hog'") == 20
            }
            let granted = try await bed.number("SELECT sum(transaction_id::bigint - 61000)::bigint FROM grants")
            // The sum of the granted numbers shows which number from 0 to 20 is missing.
            let missing = Int(210 - granted)
            try await bed.submit("p-again", receipts[missing], player: "hog")
            try await bed.until("it is granted as well") {
                try await bed.number("SELECT count(*) FROM grants WHERE player_id = 'hog'") == 21
            }
        }
    }
}
