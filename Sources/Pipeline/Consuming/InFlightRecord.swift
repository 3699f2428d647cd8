import Fulfillment
import Kafka
import Synchronization

/// The work on a record was given up before its outcome: the record will come again.
struct Abandoned: Error {}

/// One record between admission and the end of its work.
final class InFlightRecord: Sendable {
    let record: ConsumerRecord
    let position: RecordPosition
    let decoded: SubmissionDecoder.Decoded
    let ticket: PlayerLanes.Ticket?
    /// Counts assignments: what was admitted under an older one no longer moves offsets.
    let assignment: UInt64
    /// False where the record's offset lies above all that were ever decided in its partition.
    let mayBeRedelivered: Bool

    private struct State {
        var task: Task<Void, Never>?
        var isWaiting = false
        var isAbandoned = false
        var isOver = false
    }

    private let state = Mutex(State())

    init(
        record: ConsumerRecord, position: RecordPosition, decoded: SubmissionDecoder.Decoded,
        ticket: PlayerLanes.Ticket?, assignment: UInt64, mayBeRedelivered: Bool
    ) {
        self.record = record
        self.position = position
        self.decoded = decoded
        self.ticket = ticket
        self.assignment = assignment
        self.mayBeRedelivered = mayBeRedelivered
    }

    var byteCount: Int { record.value?.count ?? 0 }

    func start(_ work: @escaping @Sendable (InFlightRecord) async -> Void) {
        let task = Task { await work(self) }
        let isCancelled = state.withLock { state in
            // The task refers to this record: kept only while it runs, so that no cycle outlives it.
            if !state.isOver { state.task = task }
            return state.isAbandoned
        }
        if isCancelled { task.cancel() }
    }

    func end() {
        state.withLock { state in
            state.isOver = true
            state.task = nil
        }
    }

    /// The partition is going: work that only waits is given up at once, work under way may finish.
    /// - Parameter immediately: also cancels what is under way, as far as it can be.
    func abandon(immediately: Bool) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.isAbandoned = true
            return state.isWaiting || immediately ? state.task : nil
        }
        task?.cancel()
    }

    /// Runs a wait that may be given up.
    func waiting(_ body: () async throws -> Void) async throws(Abandoned) {
        let isAbandoned = state.withLock { state in
            state.isWaiting = !state.isAbandoned
            return state.isAbandoned
        }
        if isAbandoned { throw Abandoned() }
        var isCancelled = false
        do { try await body() } catch { isCancelled = true }
        state.withLock { $0.isWaiting = false }
        if isCancelled || Task.isCancelled { throw Abandoned() }
    }
}
