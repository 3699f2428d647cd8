import Fulfillment
import NamesAndTimes
import Operations
import Synchronization

/// Decides when a source leases a suspect, which is a row that may have killed its workers. Suspects are leased one at
/// a time, while this process has leased no other parked or held row.
///
/// A row becomes a suspect when its lease ended three times without a result. The result of a try clears the suspicion.
/// If three workers die while they try only this row, the row is set aside for an operator. A parked submission first
/// gets one more try, also with nothing else leased, after `ParkingPolicy.lastTrySeconds`.
///
/// The database counts the lease before the worker reads the row. So a row can become a suspect although its workers
/// died for another reason. The row's next try then has a result, which clears the suspicion.
final class SuspectTurns: Sendable {
    private let parking: ParkingContext
    private let failures: Failures
    private let part: FailingPart
    private let nextLook = NextLook()

    init(parking: ParkingContext, failures: Failures, part: FailingPart) {
        self.parking = parking
        self.failures = failures
        self.part = part
    }

    /// Returns the source's next step.
    /// - Parameters:
    ///   - lease: called while this process has leased no other parked or held row. The source then tries the returned
    ///     row.
    ///   - setAside: called with a row that was set aside instead of leased.
    func next<Leased, SetAside, Item>(
        ifAny hasSuspect: () async throws -> Bool, lease: () async throws -> SuspectLease<Leased, SetAside>,
        inHand: (Leased) -> Item, setAside: (SetAside) -> Void
    ) async -> DueTurn<Item> {
        if !nextLook.isDue { return .due }
        if await !isAnyDue(hasSuspect) {
            parking.slots.doNotIsolate(for: part)
            nextLook.putOff(seconds: PipelineLimits.suspectSeconds)
            return .due
        }
        guard parking.slots.beginIsolating(for: part) else { return .nothing }
        // Other rows are leased before the next suspect, so that suspects do not delay the other rows for long.
        nextLook.putOff(seconds: PipelineLimits.suspectSpacingSeconds)
        do {
            switch try await lease() {
            case .none: break
            case .setAside(let one): setAside(one)
            case .isolated(let leased):
                parking.slots.leasesBegan(1)
                return .isolated(inHand(leased))
            }
        } catch {
            failures.report(error, of: part)
        }
        parking.slots.endIsolating()
        return .nothing
    }

    /// Runs `clear` until it succeeds, for at most the time of a lease.
    static func clear(_ clear: () async throws -> Void) async {
        let deadline = WallClock.monotonicSeconds + PipelineLimits.forgivingSeconds
        while (try? await clear()) == nil, WallClock.monotonicSeconds < deadline {
            guard (try? await Task.sleep(for: .seconds(PipelineLimits.namingRetrySeconds))) != nil else { return }
        }
    }

    /// Returns whether a suspect is due. Returns false during an outage of Apple, and if PostgreSQL cannot be reached.
    private func isAnyDue(_ hasSuspect: () async throws -> Bool) async -> Bool {
        // During an outage a try is long. If the process is killed during such a try, the death would count against a
        // harmless row.
        guard !parking.apple.isDown else { return false }
        do { return try await hasSuspect() } catch {
            failures.report(error, of: part)
            return false
        }
    }
}

/// The time of the next query for suspects.
final class NextLook: Sendable {
    private let time = Mutex(0.0)

    var isDue: Bool { WallClock.monotonicSeconds >= time.withLock { $0 } }

    func putOff(seconds: Double) { time.withLock { $0 = WallClock.monotonicSeconds + seconds } }
}
