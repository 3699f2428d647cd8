import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Rejects parked submissions through the ledger. If a worker decides a submission at the same time, the decision that
/// is first in `outcomes` stands.
public struct ParkedRejection: Sendable {
    private static let batch = 100
    /// The longest wait for submissions that a worker has leased. Workers end most of these leases within a second.
    private static let waitSeconds = 15.0

    let pool: PostgresPool
    private let operatorName: String

    /// - Parameter operatorName: the operator's name, stored with each outcome for `inspect`.
    public init(pool: PostgresPool, by operatorName: String) {
        self.pool = pool
        self.operatorName = operatorName
    }

    public struct Ending: CustomStringConvertible, Sendable, Equatable {
        public var rejected = 0
        /// The submissions that a worker answered before the rejection.
        var answeredBefore = 0
        /// The submissions that cannot be read, or whose outcome PostgreSQL refuses.
        public var refused = 0
        /// The submissions that a worker has leased.
        public var leased = 0

        public init() {}

        public var isComplete: Bool { refused == 0 && leased == 0 }

        public var description: String {
            var parts = ["\(rejected) rejected"]
            if answeredBefore > 0 { parts.append("\(answeredBefore) were answered before") }
            if refused > 0 { parts.append("\(refused) cannot be answered: the database refuses their data") }
            if leased > 0 { parts.append("a worker is trying \(leased): run this again") }
            return parts.joined(separator: "; ")
        }
    }

    /// Rejects submissions. Throws a `PostgresError`.
    /// - Parameters:
    ///   - limit: the most submissions to reject; nil for all.
    ///   - progress: called after each batch with the number of submissions so far.
    public func run(
        _ filter: ParkedFilter, limit: Int? = nil, progress: (Int) -> Void = { _ in }
    ) async throws -> Ending {
        let ledger = PostgresLedger(pool: pool)
        do {
            let ending = try await reject(filter, limit: limit ?? .max, in: ledger, progress)
            await ledger.close()
            return ending
        } catch {
            await ledger.close()
            throw error
        }
    }

    /// Rejects all of a player's submissions that no worker has leased. A row whose outcome PostgreSQL refuses stays.
    /// Throws a `PostgresError`.
    public func run(of player: PlayerID) async throws {
        let ledger = PostgresLedger(pool: pool)
        do {
            var refused: [NameBasedUUID] = []
            while true {
                let excluded = refused
                let leased = try await pool.run { session in
                    try LeaseParked.all(
                        of: player, excluding: excluded, limit: Self.batch,
                        leaseSeconds: PostgresParking.leaseSeconds, in: session)
                }
                refused += leased.unreadable
                for submission in leased.leased {
                    switch try await reject(submission, in: ledger) {
                    case .rejected(let event): try await handOver([event])
                    case .answeredBefore: break
                    case .refused: refused.append(submission.id)
                    }
                }
                if leased.leased.isEmpty, leased.unreadable.isEmpty { break }
            }
            await ledger.close()
        } catch {
            await ledger.close()
            throw error
        }
    }

    private func reject(
        _ filter: ParkedFilter, limit: Int, in ledger: PostgresLedger, _ progress: (Int) -> Void
    ) async throws -> Ending {
        let store = ParkedAdministration(pool: pool)
        let deadline = ContinuousClock.now + .seconds(Self.waitSeconds)
        var ending = Ending()
        var refused: [NameBasedUUID] = []
        while true {
            // A submission that a worker had leased in the last round may be rejected by now.
            ending.leased = 0
            let left = limit - ending.rejected - ending.answeredBefore - refused.count
            if left <= 0 { return ending }
            let leased = try await store.lease(filter, excluding: refused, limit: min(left, Self.batch))
            refused += leased.unreadable
            try await withThrowingTaskGroup(of: (NameBasedUUID, Fate).self) { group in
                for submission in leased.submissions {
                    group.addTask { (submission.id, try await reject(submission, in: ledger)) }
                }
                var events: [NameBasedUUID] = []
                for try await (id, fate) in group {
                    switch fate {
                    case .rejected(let event):
                        ending.rejected += 1
                        events.append(event)
                    case .answeredBefore: ending.answeredBefore += 1
                    case .refused: refused.append(id)
                    }
                }
                try await handOver(events)
            }
            ending.refused = refused.count
            progress(ending.rejected + ending.answeredBefore + refused.count)
            if !leased.submissions.isEmpty || !leased.unreadable.isEmpty { continue }
            ending.leased = try await store.count(filter).leased
            if ending.leased == 0 || ContinuousClock.now >= deadline { return ending }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private enum Fate {
        case rejected(NameBasedUUID)
        case answeredBefore
        case refused
    }

    private func reject(_ leased: LeasedSubmission, in ledger: PostgresLedger) async throws -> Fate {
        let now = WallClock.now
        let decision = PendingDecision(
            submission: leased.submission, position: leased.position, proof: leased.proof,
            verdict: .whole(.refusedByOperator, []), environment: .production, evidence: nil, decidedAt: now,
            catalogVersion: 0, traceparent: leased.traceparent, parkedID: leased.id,
            trace: DecisionTrace(refusedBy: operatorName, tries: leased.history.tries))
        switch try await ledger.settle(decision).value {
        case .events(let events):
            guard let event = events.last, event.reason == .refusedByOperator else { return .answeredBefore }
            return .rejected(event.eventID)
        case .parked: return .refused
        }
    }

    private func handOver(_ events: [NameBasedUUID]) async throws {
        try await pool.run { try HandOverEvents.run(events, in: $0) }
    }
}
