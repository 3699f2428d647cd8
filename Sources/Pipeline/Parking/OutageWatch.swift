import Fulfillment
import Synchronization

/// Tells trouble with one receipt from trouble with Apple: out is out for everybody.
final class OutageWatch: Sendable {
    /// Proofs that Apple gave no verdict on since it last gave one on any, up to `troublesInOutage`.
    private let troubled = Mutex<Set<Digest256>>([])

    func note(_ answer: AppleAnswer, proof: Digest256) {
        switch answer {
        case .trouble:
            troubled.withLock { troubled in
                if troubled.count < PipelineLimits.troublesInOutage { troubled.insert(proof) }
            }
        case .genuine, .refused: troubled.withLock { $0.removeAll() }
        case .blocked: break
        }
    }

    var isOut: Bool { troubled.withLock { $0.count >= PipelineLimits.troublesInOutage } }
}
