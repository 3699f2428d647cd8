import Fulfillment
import NamesAndTimes
import Synchronization

/// Whether a death of this process counts against the one record or row that it isolates. It is accused before its work
/// begins, cleared before the work waits, and accused again before the work goes on.
///
/// A change that cannot be made durable is tried again until it can be, or until the task is cancelled. Work that is
/// not accused must not compute, and accused work must not wait.
final class Accusation: SuspectedWork {
    private let isMade = Mutex(true)
    private let change: @Sendable (_ isAtWork: Bool) async -> Bool

    /// - Parameter change: makes the accusation durable, and returns whether it is.
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

/// A request to accuse or clear, for the consumer's thread, whose commits hold accusations.
final class AccusationRequest: Sendable {
    let isAtWork: Bool

    private enum State {
        case new
        case asked(CheckedContinuation<Bool, Never>)
        case ended(Bool)
    }

    private let state = Mutex(State.new)

    private init(isAtWork: Bool) { self.isAtWork = isAtWork }

    /// True if nobody waits for it any more.
    var isOver: Bool {
        state.withLock { if case .ended = $0 { true } else { false } }
    }

    /// Returns whether the change is durable; false if the task is cancelled.
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

    /// Ends the request. Any thread may call it, any number of times; the first call counts.
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
