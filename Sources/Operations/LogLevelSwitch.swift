public import Logging
import Synchronization

/// The level of all loggers that share this switch. It can change while the process runs.
public final class LogLevelSwitch: Sendable {
    private let rank: Atomic<Int>

    public init(_ level: Logger.Level) { rank = Atomic(Self.rank(of: level)) }

    public var level: Logger.Level {
        get { Logger.Level.allCases[rank.load(ordering: .relaxed)] }
        set { rank.store(Self.rank(of: newValue), ordering: .relaxed) }
    }

    private static func rank(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}
