import Fulfillment
import TestSupport

/// A verifier without a network. It finds each receipt genuine, unless told otherwise, and holds back the answers that it
/// is told to hold back.
final class ScriptedVerifier: ReceiptVerifier {
    private struct State {
        var answers: [String: [AppleAnswer]] = [:]
        var held: Set<String> = []
        var waiting: [String: [Int: CheckedContinuation<Bool, Never>]] = [:]
        var asked: [String] = []
    }

    private let state: Shared<State>

    init(changes: ChangeSignal) { state = Shared(State(), changes) }

    /// One answer after the other, then genuine for good.
    func answer(_ name: String, _ answers: AppleAnswer...) {
        state.update { $0.answers[name] = answers }
    }

    func hold(_ names: String...) {
        state.update { $0.held.formUnion(names) }
    }

    func release(_ names: String...) {
        let waiting = state.update { state in
            state.held.subtract(names)
            return names.flatMap { state.waiting.removeValue(forKey: $0)?.map(\.value) ?? [] }
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    /// The names asked for, in order.
    var asked: [String] { state.read { $0.asked } }
    func count(_ name: String) -> Int { state.read { state in state.asked.count { $0 == name } } }

    func verify(_ request: VerificationRequest) async -> AppleAnswer {
        let name = Sample.name(ofReceipt: request.receipt ?? "")
        let number = state.update { state in
            state.asked.append(name)
            return state.asked.count
        }
        guard await isReleased(name, number) else { return .trouble(.init(.connection)) }
        return state.update { state in
            guard let answer = state.answers[name]?.first else { return Sample.genuine(name) }
            state.answers[name]?.removeFirst()
            return answer
        }
    }

    /// False where the task was cancelled before.
    private func isReleased(_ name: String, _ number: Int) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReleased = state.update { state -> Bool? in
                    if Task.isCancelled { return false }
                    guard state.held.contains(name) else { return true }
                    state.waiting[name, default: [:]][number] = continuation
                    return nil
                }
                if let isReleased { continuation.resume(returning: isReleased) }
            }
        } onCancel: {
            state.update { $0.waiting[name]?.removeValue(forKey: number) }?.resume(returning: false)
        }
    }
}
