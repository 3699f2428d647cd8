import Fulfillment
import NamesAndTimes
import Synchronization

/// The stored mark that a death of the process counts against the one record or row that this process isolates. The
/// worker makes this accusation before the record's work begins, withdraws it while the work waits, and makes it again
/// before the work goes on.
///
/// `works` and `waits` try again until the change is durable, or until the task is cancelled. The worker must not work
/// on the record without the accusation, and must not wait for anything with it.
final class Accusation: SuspectedWork {
    private let isMade = Mutex(true)
    private let change: @Sendable (_ isAtWork: Bool) async -> Bool

    /// - Parameter change: makes the accusation (true) or its withdrawal (false) durable, and returns whether that
    ///   succeeded.
    init(change: @escaping @Sendable (_ isAtWork: Bool) async -> Bool) { self.change = change }

    func works() async { await make(true) }

    func waits() async { await make(false) }

    private func make(_ isAtWork: Bool) async {
        guard isMade.withLock({ $0 != isAtWork }) else { return }
        while await !change(isAtWork) {
            guard (try? await Task.sleep(for: .seconds(PipelineLimits.accusingRetrySeconds))) != nil else { return }
        }
        isMade.withLock { $0 = isAtWork }
    }
}

/// A task's request to make an accusation or to withdraw it. The consumer's thread answers it, because the metadata of
/// that thread's commits holds accusations.
final class AccusationRequest: Sendable {
    let isAtWork: Bool

    private enum State {
        case new
        case asked(CheckedContinuation<Bool, Never>)
        case ended(Bool)
    }

    private let state = Mutex(State.new)

    private init(isAtWork: Bool) { self.isAtWork = isAtWork }

    /// True if no task waits for the answer any more.
    var isOver: Bool {
        state.withLock { if case .ended = $0 { true } else { false } }
    }

    /// Posts a request, waits for its answer, and returns whether the change is durable. Returns false if the task is
    /// cancelled.
    /// - Parameter post: hands the request to the thread.
    static func ask(_ isAtWork: Bool, _ post: (AccusationRequest) -> Void) async -> Bool {
        let request = AccusationRequest(isAtWork: isAtWork)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ended = request.state.withLock { state -> Bool? in
                    if case .ended(let isDurable) = state { return isDurable }
                    state = .asked(continuation)
                    return nil
                }
                if let ended { return continuation.resume(returning: ended) }
                post(request)
            }
        } onCancel: {
            request.end(false)
        }
    }

    /// Ends the request with an answer. Any thread may call this, any number of times; the first call counts.
    func end(_ isDurable: Bool) {
        let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            switch state {
            case .new: state = .ended(isDurable)
            case .asked(let continuation):
                state = .ended(isDurable)
                return continuation
            case .ended: break
            }
            return nil
        }
        continuation?.resume(returning: isDurable)
    }
}
