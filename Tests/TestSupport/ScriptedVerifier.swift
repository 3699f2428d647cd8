import Fulfillment
import NamesAndTimes

/// A verifier without a network. For each proof it gives the answers of a script in order, and repeats the last answer.
/// A test may delay answers. For a proof without a script it answers, as Apple does, that the receipt is malformed,
/// unless the test sets another answer.
public final class ScriptedVerifier: ReceiptVerifier {
    private struct State {
        var scripts: [String: [AppleAnswer]] = [:]
        var ofEvery: [AppleAnswer] = []
        var held: Set<String> = []
        var waiting: [String: [Int: CheckedContinuation<Bool, Never>]] = [:]
        var requests: [VerificationRequest] = []
        var asked: [String] = []
        var onAsk: @Sendable (VerificationRequest) -> Void = { _ in }
    }

    private let state: Shared<State>
    private let name: @Sendable (VerificationRequest) -> String
    private let unscripted: @Sendable (String) -> AppleAnswer

    /// - Parameters:
    ///   - changes: the signal that the test's doubles share.
    ///   - name: returns the test's name for a request. If `name` is nil, the receipt or transaction id is the name.
    ///   - unscripted: returns the answer about a proof without a script, from the proof's name.
    public init(
        changes: ChangeSignal = ChangeSignal(), name: (@Sendable (VerificationRequest) -> String)? = nil,
        unscripted: @escaping @Sendable (String) -> AppleAnswer = { _ in .refused(.malformed) }
    ) {
        state = Shared(State(), changes)
        self.name = name ?? { $0.subject.text }
        self.unscripted = unscripted
    }

    /// Sets the answers about a proof, in order.
    public func script(_ name: String, _ answers: [AppleAnswer]) {
        state.update { $0.scripts[name] = answers }
    }

    /// Sets the answers about all proofs that have no script of their own.
    public func answer(_ answers: AppleAnswer...) { state.update { $0.ofEvery = answers } }

    public func hold(_ names: String...) {
        state.update { $0.held.formUnion(names) }
    }

    public func release(_ names: String...) {
        let waiting = state.update { state in
            state.held.subtract(names)
            return names.flatMap { state.waiting.removeValue(forKey: $0)?.map(\.value) ?? [] }
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    public func onAsk(_ body: @escaping @Sendable (VerificationRequest) -> Void) { state.update { $0.onAsk = body } }

    public var requests: [VerificationRequest] { state.read(\.requests) }
    /// The names of the proofs in the requests so far, in order.
    public var asked: [String] { state.read(\.asked) }
    public func count(_ name: String) -> Int { asked.count { $0 == name } }

    public func verify(_ request: VerificationRequest) async -> AppleAnswer {
        state.read(\.onAsk)(request)
        let name = name(request)
        let number = state.update { state in
            state.requests.append(request)
            state.asked.append(name)
            return state.asked.count
        }
        guard await isReleased(name, number) else { return .trouble(.init(.connection)) }
        let answer = state.update { state -> AppleAnswer? in
            guard state.scripts[name] == nil else { return Self.next(of: &state.scripts[name, default: []]) }
            return Self.next(of: &state.ofEvery)
        }
        return answer ?? unscripted(name)
    }

    private static func next(of answers: inout [AppleAnswer]) -> AppleAnswer? {
        answers.count > 1 ? answers.removeFirst() : answers.first
    }

    /// Waits until the test releases the answer. Returns false if the task was cancelled first.
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

extension VerificationRequest.Subject {
    fileprivate var text: String {
        switch self {
        case .receipt(let receipt, _): receipt
        case .transaction(let id, _): id.text
        }
    }
}
