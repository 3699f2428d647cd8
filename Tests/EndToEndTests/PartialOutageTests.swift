import AppStoreSimulation
import Testing

@testable import Demo

/// A whole worker at default settings in front of an App Store that answers some and not others. What it does not answer is
/// never answered while the test lasts: whoever waits for it waits until the test gives up.
@Suite("Apple answers some and not others, end to end", .wholeSystem)
struct PartialOutageTests {
    private static let defaults = [
        "RETRY_INITIAL_DELAY_SECONDS": "0.5", "RETRY_MAX_DELAY_SECONDS": "300", "RETRY_PARK_AFTER_SECONDS": "30",
        "APPLE_MAX_CONCURRENCY": "256", "MAX_IN_FLIGHT": "2000",
    ]

    @Test("every healthy submission is answered while others get 21009", arguments: [20, 40])
    func some(percent: Int) async throws {
        try await ParkingBed.run(latency: .fixed(50)) { bed in
            _ = try bed.startWorker(Self.defaults)
            var healthy: [String] = []
            for number in 0..<200 {
                let receipt = ParkingBed.receipt("8\(1000 + number)")
                let player = "p-\(number)"
                // Spread evenly, without a pattern of ten.
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

    @Test("120 players whose one receipt always gets 21005 keep nobody waiting, though they come first", .takesLong)
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
            // What fails leaves memory.
            try await bed.until("those are parked") {
                try await bed.number("SELECT count(*) FROM parked WHERE reason = 'apple_trouble'") == 120
            }
            #expect(bed.answers("p-stuck-0").isEmpty)
        }
    }

    @Test(
        "a player's twenty-first parked proof that is not proven is answered too_many_waiting, and taken once there is room"
    )
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
            // Of 0 to 20 the one that is missing.
            let missing = Int(210 - granted)
            try await bed.submit("p-again", receipts[missing], player: "hog")
            try await bed.until("it is granted as well") {
                try await bed.number("SELECT count(*) FROM grants WHERE player_id = 'hog'") == 21
            }
        }
    }
}
