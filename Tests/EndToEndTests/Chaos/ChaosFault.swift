import TestSupport

/// A fault that the chaos run injects into workers or into the services that they use.
enum ChaosFault: String, CaseIterable, Sendable {
    case workerKilled, workerFrozen, workerStopped, workerAdded, workerPortTaken
    case databaseStopped, databaseCrashed, databaseSessionsEnded, databaseReadOnly, databaseFull, databaseDeadlocks
    case databaseLocked, databaseSlow, databaseCut, databaseSilent
    /// One backend process of PostgreSQL is stopped. A frozen backend continues within seconds. A hung backend stays
    /// stopped for longer than every deadline of the workers.
    case databaseBackendFrozen, databaseBackendHung
    case databaseRightTaken, databaseReader
    case databasePutBack, databasePromoted
    case appleHangs, apple503, appleHTML, appleResets, appleHalf, appleSlow, appleInTrouble, appleCut, appleSilent
    case appleLimitsBySeconds, appleLimitsByDate, appleLimitsByMilliseconds
    case brokerDown, brokersSlow, produceErrors, commitErrors, heartbeatErrors, fetchErrors, leadersMove
    case coordinatorMoves

    enum Family: Sendable { case worker, database, apple, kafka }

    var family: Family {
        if rawValue.hasPrefix("worker") { return .worker }
        if rawValue.hasPrefix("database") { return .database }
        return rawValue.hasPrefix("apple") ? .apple : .kafka
    }

    /// The seconds in Apple's `Retry-After`.
    static let retryAfterSeconds = 5

    /// True if the database may lose commits in this fault. After such a loss, workers may break an order that depended
    /// on a lost commit.
    var isLoss: Bool { self == .databasePutBack || self == .databasePromoted }

    static let pending: Set<ChaosFault> = []

    /// The seconds that the fault must last to have an effect.
    var leastSeconds: Double {
        switch self {
        case .databaseBackendHung: 15
        case .databaseReader: 5
        default: 0
        }
    }

    /// True if Apple sends `Retry-After` in this fault. Such a fault comes alone, because every replica must learn of
    /// the limit.
    var isLimit: Bool { rawValue.hasPrefix("appleLimits") }
}

/// Chooses faults in an order that depends only on the seed. Chooses each fault once before it repeats a fault.
struct ChaosSchedule: Sendable {
    struct Step: Sendable, CustomStringConvertible {
        let faults: [ChaosFault]
        let seconds: Double
        /// The index of the worker or the broker that the fault affects.
        let victim: Int

        var description: String {
            faults.map(\.rawValue).joined(separator: " + ") + " for \(Int(seconds * 10)) tenths of a second"
        }
    }

    /// On average, one of this many faults comes together with a second fault.
    private static let pairing = 3

    private let faults: [ChaosFault]
    private var random: SeededRandom
    private var deck: [ChaosFault] = []

    init(seed: UInt64, faults: [ChaosFault]) {
        random = SeededRandom(seed: seed)
        self.faults = faults
        deck = faults.shuffled(using: &random)
        // A fault that loses commits comes first, so that even a short run has such a fault.
        if let loss = deck.lastIndex(where: \.isLoss) { deck.append(deck.remove(at: loss)) }
    }

    mutating func next() -> Step {
        var faults = [draw()]
        if !faults[0].isLimit, Int.random(in: 0..<Self.pairing, using: &random) == 0 {
            let second = draw()
            if second.isLimit || second.family == faults[0].family {
                deck.append(second)
            } else {
                faults.append(second)
            }
        }
        return Step(
            faults: faults,
            seconds: max(
                Double(Int.random(in: 20...60, using: &random)) / 10, faults.map(\.leastSeconds).max() ?? 0),
            victim: Int.random(in: 0..<ChaosBed.workers, using: &random))
    }

    private mutating func draw() -> ChaosFault {
        if deck.isEmpty { deck = faults.shuffled(using: &random) }
        return deck.removeLast()
    }
}
