import Fulfillment
import Synchronization

/// Apple's answer to the one proof of several that were leased together. They come one after the other, in one task.
final class GroupAnswer: Sendable {
    private let known = Mutex<AppleAnswer?>(nil)

    func value(_ ask: () async -> AppleAnswer) async -> AppleAnswer {
        if let answer = known.withLock({ $0 }) { return answer }
        let answer = await ask()
        known.withLock { $0 = answer }
        return answer
    }
}
