import Fulfillment
import Synchronization

/// The budget of requests to Apple that replicas share, for replicas in one process.
public final class InMemoryBudget: AppleBudget {
    /// The longest time for which a scope is blocked, in seconds.
    private static let longestHoldSeconds = 3600.0

    private struct Row {
        var leasedUntil = ContinuousClock.now
        var heldUntil = ContinuousClock.now
    }

    private let rows = Mutex<[AppleScope: Row]>([:])
    /// The scopes that become blocked. `looks` has an element for each call of `holds()`. Only one reader may read each
    /// of these streams.
    public let held = AsyncStream.makeStream(of: AppleScope.self)
    public let looks = AsyncStream.makeStream(of: Void.self)

    public init() {}

    public func lease(_ requests: Int, for scope: AppleScope, perSecond: Double) async throws -> BudgetLease? {
        rows.withLock { rows in
            let now = ContinuousClock.now
            var row = rows[scope] ?? Row(leasedUntil: now, heldUntil: now)
            let from = max(now, row.leasedUntil)
            guard from < now + .seconds(1) else { return nil }
            let lasts = Double(requests) / perSecond
            row.leasedUntil = from + .seconds(lasts)
            rows[scope] = row
            return BudgetLease(requests: requests, startsIn: (from - now) / .seconds(1), lasts: lasts)
        }
    }

    public func hold(_ scope: AppleScope, seconds: Double) async throws {
        defer { held.continuation.yield(scope) }
        rows.withLock { rows in
            let until = ContinuousClock.now + .seconds(min(seconds, Self.longestHoldSeconds))
            rows[scope, default: Row()].heldUntil = max(until, rows[scope]?.heldUntil ?? until)
        }
    }

    public func holds() async throws -> [AppleScope: Double] {
        defer { looks.continuation.yield() }
        let now = ContinuousClock.now
        return rows.withLock { $0.mapValues { ($0.heldUntil - now) / .seconds(1) }.filter { $0.value > 0 } }
    }
}
