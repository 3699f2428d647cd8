import Fulfillment
import NamesAndTimes

/// Parked submissions in memory. Due times follow the process's clock.
public final class InMemoryParking: ParkedSubmissions {
    private struct Row {
        let parked: ParkingSubmission
        var reason: ParkingReason
        var history: WaitingHistory
        var dueAt: ContinuousClock.Instant?
        var lease: Int64?
        var suspicion = LeaseSuspicion()
    }

    private struct State {
        var rows: [NameBasedUUID: Row] = [:]
        var lastLease: Int64 = 0
    }

    private let state: Shared<State>
    private let mostUnprovenBytes: Int

    /// - Parameters:
    ///   - changes: the signal that the test's doubles share.
    ///   - mostUnprovenBytes: the most bytes of parked proofs that are not proven.
    public init(changes: ChangeSignal = ChangeSignal(), mostUnprovenBytes: Int = .max) {
        state = Shared(State(), changes)
        self.mostUnprovenBytes = mostUnprovenBytes
    }

    public func makeDue() {
        state.update { state in
            for (id, row) in state.rows where row.dueAt != nil { state.rows[id]?.dueAt = ContinuousClock.now }
        }
    }

    public var count: Int { state.read { $0.rows.count } }

    /// Ends all leases, as if all workers had died long ago.
    public func endLeases() {
        state.update { state in
            for id in state.rows.keys { state.rows[id]?.lease = nil }
        }
    }

    public func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome> {
        let dueAt = ContinuousClock.now + .seconds(submission.dueAfterSeconds)
        return state.update { state in
            let id = submission.position.parkedID
            if state.rows[id] != nil { return Durable(.parked, in: nil) }
            if !submission.isProven {
                let player = submission.submission.playerID
                let proofs = Set(
                    state.rows.values.filter { !$0.parked.isProven && $0.parked.submission.playerID == player }
                        .map(\.parked.proof))
                if !proofs.contains(submission.proof), proofs.count >= ParkingPolicy.parkedOfPlayer {
                    return Durable(.tooManyWaiting, in: nil)
                }
                let parked = state.rows.values.filter { !$0.parked.isProven }.reduce(0) { $0 + $1.parked.byteCount }
                if parked + submission.byteCount > mostUnprovenBytes { return Durable(.tooManyWaiting, in: nil) }
            }
            state.rows[id] = Row(
                parked: submission, reason: submission.reason, history: submission.history, dueAt: dueAt,
                suspicion: submission.reason == .crashed ? .ofCrashed : LeaseSuspicion())
            return Durable(.parked, in: nil)
        }
    }

    public func leaseDue(limit: Int) async throws -> [LeasedSubmission] {
        let now = ContinuousClock.now
        return state.update { state in
            let open = state.rows.filter {
                $0.value.lease == nil && $0.value.dueAt != nil && !$0.value.suspicion.isSuspect
            }.sorted {
                ($0.value.dueAt ?? now, $0.value.parked.position.offset) < (
                    $1.value.dueAt ?? now, $1.value.parked.position.offset
                )
            }
            let due = open.filter { $0.value.dueAt.map { $0 <= now } ?? false }.prefix(limit)
            let proofs = Set(due.map(\.value.parked.key))
            let dueIDs = Set(due.map(\.key))
            let alike = open.filter { proofs.contains($0.value.parked.key) && !dueIDs.contains($0.key) }.prefix(limit)
            return (due + alike).compactMap { Self.lease($0.key, isDue: dueIDs.contains($0.key), &state) }
        }
    }

    public func hasSuspect() async throws -> Bool {
        state.read { Self.suspect(in: $0) != nil }
    }

    public func leaseSuspect() async throws -> SuspectLease<LeasedSubmission, SetAsideSubmission> {
        state.update { state in
            guard let id = Self.suspect(in: state), var row = state.rows[id] else { return .none }
            guard let isTriedAgain = row.suspicion.beginIsolationOrLastTry() else {
                state.rows[id] = row
                return Self.lease(id, isDue: true, &state).map { .isolated($0) } ?? .none
            }
            row.dueAt = isTriedAgain ? ContinuousClock.now + .seconds(ParkingPolicy.lastTrySeconds) : nil
            row.reason = .crashed
            state.rows[id] = row
            let submission = row.parked.submission
            return .setAside(
                SetAsideSubmission(
                    submissionID: submission.submissionID.text, bundleID: submission.bundleID.text,
                    deaths: row.suspicion.deathsInIsolation, isTriedAgain: isTriedAgain))
        }
    }

    public func clearSuspicion(of leased: LeasedSubmission) async throws {
        change(leased) { $0?.suspicion.isIsolated = false }
    }

    public func accuse(_ leased: LeasedSubmission) async throws {
        change(leased) { $0?.suspicion.isIsolated = true }
    }

    public func reschedule(
        _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
        dueAfterSeconds: Double
    ) async throws {
        change(leased) { row in
            row?.reason = reason
            row?.history = history.stored
            row?.dueAt = ContinuousClock.now + .seconds(dueAfterSeconds)
            row?.lease = nil
            row?.suspicion = LeaseSuspicion()
        }
    }

    public func endLease(of leased: LeasedSubmission) async throws {
        change(leased) { row in
            row?.lease = nil
            row?.suspicion.released()
        }
    }

    public func delete(_ leased: LeasedSubmission) async throws {
        change(leased) { $0 = nil }
    }

    public func wakeTroubled(
        _ count: Int, of apps: Set<BundleID>?, after place: NameBasedUUID?
    ) async throws -> NameBasedUUID? {
        let now = ContinuousClock.now
        return state.update { state in
            let behind = state.rows.keys.sorted().filter { id in place.map { $0 < id } ?? true }
            let waiting = behind.filter { id in
                guard let row = state.rows[id], row.reason == .appleTrouble, row.dueAt.map({ $0 > now }) ?? false
                else { return false }
                return apps?.contains(row.parked.submission.bundleID) ?? true
            }
            for id in waiting.prefix(count) { state.rows[id]?.dueAt = now }
            return waiting.count >= count ? waiting.prefix(count).last : nil
        }
    }

    public func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws {
        state.update { state in
            for (id, row) in state.rows where row.dueAt != nil {
                guard row.parked.submission.bundleID == bundleID, reasons.contains(row.reason) else { continue }
                state.rows[id]?.dueAt = min(ContinuousClock.now, row.dueAt ?? ContinuousClock.now)
            }
        }
    }

    /// Changes the row if the worker still has the lease.
    private func change(_ leased: LeasedSubmission, _ body: (inout Row?) -> Void) {
        state.update { state in
            guard state.rows[leased.id]?.lease == leased.lease else { return }
            body(&state.rows[leased.id])
        }
    }

    private static func suspect(in state: State) -> NameBasedUUID? {
        let now = ContinuousClock.now
        return state.rows.filter { _, row in
            row.lease == nil && row.suspicion.isSuspect && row.dueAt.map { $0 <= now } ?? false
        }.min { $0.value.dueAt ?? now < $1.value.dueAt ?? now }?.key
    }

    private static func lease(_ id: NameBasedUUID, isDue: Bool, _ state: inout State) -> LeasedSubmission? {
        guard var row = state.rows[id] else { return nil }
        state.lastLease += 1
        row.lease = state.lastLease
        row.suspicion.leases += 1
        state.rows[id] = row
        return LeasedSubmission(
            id: id, submission: row.parked.submission, position: row.parked.position, proof: row.parked.proof,
            traceparent: row.parked.traceparent, reason: row.reason, history: row.history.stored, isDue: isDue,
            lease: state.lastLease)
    }
}

extension ParkingSubmission {
    fileprivate struct Key: Hashable {
        let proof: Digest256
        let bundleID: BundleID
    }

    fileprivate var byteCount: Int {
        switch submission.proof {
        case .receipt(let text), .signedTransaction(let text): text.utf8.count
        case .transactionID(let id): id.text.utf8.count
        }
    }

    fileprivate var key: Key { Key(proof: proof, bundleID: submission.bundleID) }
}

extension WaitingHistory {
    /// The retry state as PostgreSQL stores it, without the time that only the worker's memory has.
    fileprivate var stored: WaitingHistory {
        var stored = WaitingHistory(
            failures: failures, doubts: doubts, firstFailureAt: firstFailureAt, parkings: parkings, tries: tries)
        stored.lookUps = lookUps
        return stored
    }
}
