import Fulfillment
import NamesAndTimes
import Synchronization

/// The places of workers in notification histories, in memory. No worker dies here, so no place becomes suspect.
public final class InMemoryHistoryPlaces: HistoryPlaces {
    private struct Row {
        var place: HistoryPlace
        var dueAt = Timestamp(milliseconds: 0)
        var leasedUntil = Timestamp(milliseconds: 0)
    }

    private let rows = Mutex<[HistoryScope: Row]>([:])
    private let clock: @Sendable () -> Timestamp

    public init(clock: @escaping @Sendable () -> Timestamp = { WallClock.now }) { self.clock = clock }

    /// Ends all leases, as if their workers had died long ago.
    public func endLeases() {
        rows.withLock { rows in
            for scope in rows.keys { rows[scope]?.leasedUntil = Timestamp(milliseconds: 0) }
        }
    }

    public func lease(_ scope: HistoryScope, survived: Digest256?, seconds: Double) async throws -> HistoryPlace? {
        let now = clock()
        return rows.withLock { rows in
            let known = rows[scope]
            guard known.map({ $0.dueAt <= now && $0.leasedUntil <= now }) ?? true else { return nil }
            var place = HistoryPlace(
                scope: scope, takenUntil: known?.place.takenUntil, now: now, lease: (known?.place.lease ?? 0) + 1)
            place.page = known?.place.page
            rows[scope] = Row(place: place, leasedUntil: now.adding(milliseconds: Int64(seconds * 1000)))
            return place
        }
    }

    public func advance(
        _ place: HistoryPlace, to step: HistoryStep, behind effects: Set<DatabaseHistory>, seconds: Double
    ) async throws -> HistoryMove {
        rows.withLock { rows in
            guard rows[place.scope]?.place.lease == place.lease else { return .lost }
            var moved = place
            switch step {
            case .page(let page): moved.page = page
            case .windowEnd(let end):
                moved.takenUntil = max(moved.takenUntil ?? end, end)
                moved.page = nil
            }
            moved.lease += 1
            rows[place.scope]?.place = moved
            return .moved(moved)
        }
    }

    public func suspect(_ name: Digest256?, _ place: HistoryPlace, seconds: Double) async throws -> HistoryPlace? {
        place
    }

    public func setAside(_ name: Digest256, _ place: HistoryPlace) async throws {}

    public func release(_ place: HistoryPlace, dueAfterSeconds seconds: Double) async throws {
        let due = clock().adding(milliseconds: Int64(seconds * 1000))
        rows.withLock { rows in
            guard rows[place.scope]?.place.lease == place.lease else { return }
            rows[place.scope]?.dueAt = due
            rows[place.scope]?.leasedUntil = Timestamp(milliseconds: 0)
        }
    }
}
