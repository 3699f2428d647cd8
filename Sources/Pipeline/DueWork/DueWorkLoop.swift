import Fulfillment
import Operations

/// Leases what is due from one table and tries it.
struct DueWorkLoop<Source: DueWork>: LeasingLoop {
    private let source: Source
    private let isAppleDown: @Sendable () -> Bool
    let health: Health
    let state = LeasingState()

    var part: Health.Part { source.part }
    var failingPart: FailingPart { source.failingPart }

    /// - Parameter isAppleDown: then one at a time finds out when it is back.
    init(_ source: Source, health: Health, isAppleDown: @escaping @Sendable () -> Bool = { false }) {
        self.source = source
        self.health = health
        self.isAppleDown = isAppleDown
    }

    func turn(_ group: inout DiscardingTaskGroup) async -> Double? {
        let most = isAppleDown() ? 1 : source.concurrency
        let room = most - state.underWay
        guard room > 0 else { return DueWorkLimits.busySeconds }
        guard source.isWanted else { return DueWorkLimits.lookSeconds }
        let leased = await lease { try await source.leaseDue(limit: room) } ?? []
        state.began(leased.count)
        for item in leased { group.addTask { await work(on: item) } }
        return leased.count == room ? DueWorkLimits.busySeconds : DueWorkLimits.lookSeconds
    }

    private func work(on item: Source.Item) async {
        defer { state.ended() }
        do {
            do {
                if Task.isCancelled { throw Abandoned() }
                try await tryWithinItsTime(item)
            } catch is Abandoned {
                if Task.isCancelled { try await source.release(item) } else { try await source.putOff(item) }
            }
        } catch {
            health.failures.report(error, of: failingPart)
        }
    }

    private func tryWithinItsTime(_ item: Source.Item) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await source.work(on: item)
                return true
            }
            tasks.addTask {
                try? await Task.sleep(for: .seconds(DueWorkLimits.trySeconds))
                return false
            }
            let hasEnded = try await tasks.next() ?? true
            tasks.cancelAll()
            // Past its time the try itself is to end too: its place is not free before.
            if !hasEnded { _ = try await tasks.next() }
        }
    }
}
