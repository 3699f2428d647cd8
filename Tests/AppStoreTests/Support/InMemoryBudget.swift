import Fulfillment
import Synchronization

/// What replicas share, within one process.
final class InMemoryBudget: AppleBudget {
    private struct Row {
        var leasedUntil = ContinuousClock.now
        var heldUntil = ContinuousClock.now
    }

    private let rows = Mutex<[AppleScope: Row]>([:])
    private let looks = Atomic(0)

    /// How often somebody has looked at what is held back.
    var looksAtHolds: Int { looks.load(ordering: .sequentiallyConsistent) }

    func lease(_ requests: Int, for scope: AppleScope, perSecond: Double) async throws -> BudgetLease? {
        rows.withLock { rows in
            let now = ContinuousClock.now
            var row = rows[scope] ?? Row()
            let from = max(now, row.leasedUntil)
            guard from < now + .seconds(1) else { return nil }
            let lasts = Double(requests) / perSecond
            row.leasedUntil = from + .seconds(lasts)
            rows[scope] = row
            return BudgetLease(requests: requests, startsIn: (from - now) / .seconds(1), lasts: lasts)
        }
    }

    func hold(_ scope: AppleScope, seconds: Double) async throws {
        rows.withLock { rows in
            let until = ContinuousClock.now + .seconds(seconds)
            rows[scope, default: Row()].heldUntil = max(until, rows[scope]?.heldUntil ?? until)
        }
    }

    func holds() async throws -> [AppleScope: Double] {
        defer { looks.add(1, ordering: .sequentiallyConsistent) }
        let now = ContinuousClock.now
        return rows.withLock { $0.mapValues { ($0.heldUntil - now) / .seconds(1) }.filter { $0.value > 0 } }
    }
}
