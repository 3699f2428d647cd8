import Fulfillment
import Synchronization
import TestSupport
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Parked submissions that an operator rejects")
struct ParkedRejectionTests {
    @Test("if a worker has leased a parked submission, an operator's rejection takes effect as soon as the lease ends")
    func leasedAtFirst() async throws {
        let database = try await LedgerDatabase()
        let parking = PostgresParking(pool: database.pool)
        try await parking.park(
            ParkingSubmission(
                submission: Sample.submission("waits", player: "ann"), position: Sample.position(1),
                proof: Sample.digest("waits"), traceparent: nil, reason: .appleTrouble, history: WaitingHistory(),
                dueAfterSeconds: 0))
        let leased = try #require(try await parking.leaseDue(limit: 1).first)
        let looks = Atomic<Int>(0)
        async let ending = ParkedRejection(pool: database.pool, by: "ann").run(
            ParkedFilter(id: "waits"), limit: 1, progress: { _ in looks.add(1, ordering: .relaxed) })
        // By its second look the rejection knows that a worker leases the row.
        try await eventually("it has looked twice") { looks.load(ordering: .relaxed) >= 2 }
        try await parking.endLease(of: leased)
        #expect(try await ending.description == "1 rejected")
    }
}
