import Fulfillment
import NamesAndTimes
import Synchronization

/// An accusation: the stored mark that the worker is working on an isolated record or row, which may have killed
/// earlier workers. If the process dies while the mark is stored, the death counts against the record or row. The
/// worker stores the mark before it starts the work. It withdraws the mark while the work waits, and stores it again
/// before the work continues.
///
/// `works` stores the mark, and `waits` withdraws it. Both retry until the change is stored, or until the task is
/// cancelled. This matters because the worker must not work on the record without the mark, and must not wait for Apple
/// or the database with the mark.
final class Accusation: SuspectedWork {
    private let isMade = Mutex(true)
    private let change: @Sendable (_ isAtWork: Bool) async -> Bool

    /// - Parameter change: stores the accusation (true) or its withdrawal (false), and returns whether it is stored.
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

/// A task's request to the consumer's thread to store or withdraw an accusation. Only that thread can do so, because
/// accusations are in the metadata of its commits.
final class AccusationRequest: Sendable {
    let isAtWork: Bool

    private enum State {
        case new
        case asked(CheckedContinuation<Bool, Never>)
        case ended(Bool)
    }

    private let state = Mutex(State.new)

    private init(isAtWork: Bool) { self.isAtWork = isAtWork }

    /// True if no task waits for the result any more.
    var isOver: Bool {
        state.withLock { if case .ended = $0 { true } else { false } }
    }

    /// Posts a request, waits for its result, and returns whether the change is stored. Returns false if the task is
    /// cancelled.
    /// - Parameter post: passes the request to the consumer's thread.
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

    /// Ends the request with its result. Any thread may call this more than once; only the first call counts.
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
