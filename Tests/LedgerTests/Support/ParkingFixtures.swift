import Fulfillment

@testable import Ledger

extension Sample {
    static func parking(
        _ offset: Int64, player: String = "player-1", proof: String? = nil, _ reason: ParkingReason = .appleTrouble,
        history: WaitingHistory = WaitingHistory(failures: 1), dueAfter seconds: Double = 0, isProven: Bool = false,
        order: String? = nil
    ) -> ParkingSubmission {
        ParkingSubmission(
            submission: submission("s-\(offset)", player: player, order: order), position: position(offset),
            proof: digest(proof ?? "proof \(offset)"), isProven: isProven, traceparent: "00-aa-bb-01",
            reason: reason, detail: "timeout", history: history, dueAfterSeconds: seconds)
    }
}

/// Runs `body` with a new database and a store of parked submissions, which this function closes afterwards.
///
/// - Parameter hasSecondWriter: false if one writer must park all rows. A second writer parks rows that the first, slow
///   writer leaves waiting.
func withParking(
    hasSecondWriter: Bool = true, mostUnprovenBytes: Int64 = .max,
    _ body: (LedgerDatabase, PostgresParking) async throws -> Void
) async throws {
    let database = try await LedgerDatabase()
    let store = PostgresParking(
        pool: LedgerDatabase.pool(database.uri), mostUnprovenBytes: mostUnprovenBytes,
        hasSecondWriter: hasSecondWriter)
    try await body(database, store)
    await store.close()
}
