import Fulfillment
import Testing

@testable import Ledger

@Suite("The limits of parked submissions of one player and of all players")
struct ParkingLimitTests {
    private func outcome(of given: ParkingSubmission, in store: PostgresParking) async throws -> ParkingOutcome {
        try await store.park(given).value
    }

    @Test(
        "if a player parks 60 proven submissions, 40 of them fall due over ten seconds; a second player is not delayed")
    func shareOfPlayer() async throws {
        try await withParking { (database, store) async throws -> Void in
            for offset in 0..<60 {
                #expect(
                    try await outcome(of: Sample.parking(Int64(offset), player: "hog", isProven: true), in: store)
                        == .parked)
            }
            #expect(try await outcome(of: Sample.parking(100, player: "guest"), in: store) == .parked)
            let onTime = try await database.number("SELECT count(*) FROM parked WHERE due_at <= parked_at")
            #expect(onTime == 21)
            let spread = "SELECT (extract(epoch FROM max(due_at - parked_at)) * 100)::bigint FROM parked"
            #expect(try await database.number(spread) == 1_000)
        }
    }

    @Test("parking refuses a player's twenty-first unproven proof, whatever the parking reason")
    func tooManyWaiting() async throws {
        try await withParking { database, store in
            for offset in 0..<20 {
                let reason = [ParkingReason.appleTrouble, .playerShare, .blockedNoServerAPI, .doubt][offset % 4]
                #expect(
                    try await outcome(of: Sample.parking(Int64(offset), player: "hog", reason), in: store) == .parked)
            }
            for reason in [ParkingReason.appleTrouble, .playerShare, .blockedNoServerAPI] {
                #expect(try await outcome(of: Sample.parking(20, player: "hog", reason), in: store) == .tooManyWaiting)
            }
            #expect(try await outcome(of: Sample.parking(21, player: "hog", isProven: true), in: store) == .parked)
            #expect(try await outcome(of: Sample.parking(22, player: "guest"), in: store) == .parked)
            // The same submission, or another submission of the same proof, is parked already.
            #expect(try await outcome(of: Sample.parking(7, player: "hog"), in: store) == .parked)
            #expect(try await outcome(of: Sample.parking(23, player: "hog", proof: "proof 7"), in: store) == .parked)
            #expect(try await database.number("SELECT count(*) FROM parked WHERE player_id = 'hog'") == 22)
            #expect(try await database.number("SELECT count(*) FROM parked_submissions") == 23)
            try await database.run("DELETE FROM parked WHERE source_offset = 3")
            #expect(try await outcome(of: Sample.parking(20, player: "hog"), in: store) == .parked)
            // A player who sends one proof in many submissions must not fill the table.
            for offset in 1_000..<1_100 {
                _ = try await store.park(Sample.parking(Int64(offset), player: "hog", proof: "proof 7"))
            }
            let rows = "SELECT count(*) FROM parked WHERE player_id = 'hog' AND NOT is_proven"
            #expect(try await database.number(rows) == 100)
        }
    }

    @Test("if one player's 300 unproven submissions are parked concurrently, parking accepts 20")
    func tooManyAtOnce() async throws {
        try await withParking(hasSecondWriter: false) { database, store in
            let outcomes = try await withThrowingTaskGroup(of: ParkingOutcome.self) { group in
                for offset in 0..<300 {
                    group.addTask { try await outcome(of: Sample.parking(Int64(offset), player: "hog"), in: store) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == .parked } == 20)
            #expect(try await database.number("SELECT count(*) FROM parked") == 20)
        }
    }

    /// The weight of one parked sample, in bytes.
    private static let weight: Int64 = {
        let submission = Sample.parking(1).submission
        return Int64(submission.storedBytes.count)
    }()

    @Test("parking limits the bytes of all players' unproven submissions, but no proven or already parked submissions")
    func fleet() async throws {
        try await withParking(mostUnprovenBytes: 10 * Self.weight + 9) { database, store in
            for offset in 10..<20 {
                let given = Sample.parking(Int64(offset), player: "p-\(offset)")
                #expect(try await outcome(of: given, in: store) == .parked)
            }
            #expect(try await database.number("SELECT sum(bytes)::bigint FROM parked_weights") > 9 * Self.weight)
            // Another replica reads the parked bytes from the database.
            let other = PostgresParking(
                pool: LedgerDatabase.pool(database.uri), mostUnprovenBytes: 10 * Self.weight + 9)
            for store in [store, other] {
                #expect(try await outcome(of: Sample.parking(30, player: "p-30"), in: store) == .tooManyWaiting)
                #expect(try await outcome(of: Sample.parking(11, player: "p-11"), in: store) == .parked)
            }
            #expect(try await outcome(of: Sample.parking(40, player: "p-40", isProven: true), in: store) == .parked)
            try await database.run("DELETE FROM parked WHERE source_offset < 15")
            let fresh = PostgresParking(
                pool: LedgerDatabase.pool(database.uri), mostUnprovenBytes: 10 * Self.weight + 9)
            #expect(try await outcome(of: Sample.parking(30, player: "p-30"), in: fresh) == .parked)
            let weighed = "SELECT count(*) FROM parked_weights"
            #expect(try await database.number(weighed) == 6)
            await other.close()
            await fresh.close()
        }
    }

    @Test("if many players' unproven submissions are parked concurrently, they stay within the limit for all players")
    func fleetAtOnce() async throws {
        try await withParking(hasSecondWriter: false, mostUnprovenBytes: 5 * Self.weight + 20) { database, store in
            let outcomes = try await withThrowingTaskGroup(of: ParkingOutcome.self) { group in
                for offset in 10..<90 {
                    group.addTask {
                        try await outcome(of: Sample.parking(Int64(offset), player: "p-\(offset)"), in: store)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect((4...5).contains(outcomes.count { $0 == .parked }))
            #expect(try await database.number("SELECT count(*) FROM parked") <= 5)
        }
    }

    @Test("the less room is left for unproven submissions, the more often the parked bytes are counted")
    func counting() {
        var bytes = UnprovenBytes(limit: 1_600)
        #expect(bytes.mustCount(now: 0))
        bytes.counted(0, now: 0)
        bytes.parked(100)
        #expect(!bytes.mustCount(now: 1) && bytes.room == 1_500)
        bytes.parked(1)
        #expect(bytes.mustCount(now: 1) && !bytes.mustCount(now: 0.4))
        bytes.counted(1_584, now: 1)
        bytes.parked(2)
        #expect(bytes.mustCount(now: 2) && bytes.room == 14)
        bytes.counted(2_000, now: 2)
        #expect(bytes.room == 0 && !bytes.mustCount(now: 3) && bytes.mustCount(now: 7))
    }

    @Test("if submissions exceed a player's share of memory, they are parked and fall due one by one, by offset")
    func playerShare() async throws {
        try await withParking { database, store in
            for offset in 0..<8 { try await store.park(Sample.parking(Int64(offset), player: "hog", .playerShare)) }
            let inOrder = """
                SELECT count(*) FROM (
                    SELECT source_offset, row_number() OVER (ORDER BY due_at) - 1 AS place FROM parked) AS placed
                WHERE source_offset = place
                """
            #expect(try await database.number(inOrder) == 8)
            let spread = "SELECT (extract(epoch FROM max(due_at) - min(due_at)) * 100)::bigint FROM parked"
            #expect(try await database.number(spread) >= 175)
        }
    }
}
