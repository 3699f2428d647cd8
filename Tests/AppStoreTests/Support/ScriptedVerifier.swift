import Fulfillment
import Synchronization

/// A verifier without a network: gives each receipt the answers it was told to give, one after the other, the last one
/// for good. A receipt it knows nothing of is refused as malformed, as Apple does.
final class ScriptedVerifier: ReceiptVerifier {
    enum Line: Sendable {
        case answer(AppleAnswer)
        /// Never answers: only cancellation ends it, in trouble.
        case silence
    }

    private struct State {
        var scripts: [String: [Line]] = [:]
        var asked: [String: Int] = [:]
    }

    private let state = Mutex(State())

    func script(_ receipt: String, _ lines: Line...) {
        state.withLock { $0.scripts[receipt] = lines }
    }

    /// How often it was asked for this receipt.
    func asked(_ receipt: String) -> Int { state.withLock { $0.asked[receipt] ?? 0 } }

    func verify(_ request: VerificationRequest) async -> AppleAnswer {
        let line = state.withLock { state -> Line? in
            let receipt = request.receipt ?? ""
            let count = state.asked[receipt, default: 0]
            state.asked[receipt] = count + 1
            guard let lines = state.scripts[receipt], let last = lines.last else { return nil }
            return count < lines.count ? lines[count] : last
        }
        switch line {
        case nil: return .refused(.malformed)
        case .answer(let answer): return answer
        case .silence:
            let (stream, continuation) = AsyncStream<Never>.makeStream()
            for await _ in stream {}
            continuation.finish()
            return .trouble(.init(.connection))
        }
    }
}
