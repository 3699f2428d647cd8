import Kafka
import Synchronization

/// Submits a plan at a steady rate, whatever faults occur.
final class RunningLoad: Sendable {
    private struct State {
        var places: [Delivery] = []
        var failure: String?
    }

    private let bed: Testbed
    private let plan: Plan
    private let state = Mutex(State())
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(bed: Testbed, plan: Plan) {
        self.bed = bed
        self.plan = plan
    }

    /// The position of each acknowledged record, in the order of the plan.
    var places: [Delivery] { state.withLock { $0.places } }
    var failure: String? { state.withLock { $0.failure } }

    func start(perSecond: Int) {
        let task = Task {
            while !Task.isCancelled, places.count < plan.records.count {
                await send(max(1, perSecond / 5))
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        self.task.withLock { $0 = task }
    }

    /// Returns once the whole plan is acknowledged.
    func finish() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
        while failure == nil, places.count < plan.records.count { await send(200) }
    }

    /// Returns once the first `count` records are acknowledged.
    func send(upTo count: Int) async {
        while failure == nil, places.count < count { await send(min(200, count - places.count)) }
    }

    private func send(_ count: Int) async {
        let next = plan.records[places.count...].prefix(count)
        do {
            let delivered = try await bed.submit(next)
            state.withLock { $0.places += delivered }
        } catch {
            state.withLock { $0.failure = "the test could not submit: \(error)" }
        }
    }
}
