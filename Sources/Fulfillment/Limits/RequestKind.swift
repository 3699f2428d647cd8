/// Who asks Apple, as far as it decides who goes first.
public struct RequestKind: Sendable, Hashable {
    /// Neither its submission nor its proof has failed before.
    public let isFresh: Bool
    /// Its signature is Apple's, and it is this app's.
    public let isProven: Bool

    public init(isFresh: Bool, isProven: Bool) {
        self.isFresh = isFresh
        self.isProven = isProven
    }

    public static let all = [true, false].flatMap { isFresh in
        [true, false].map { RequestKind(isFresh: isFresh, isProven: $0) }
    }

    /// The kinds of what failed before.
    public static let repeated = all.filter { !$0.isFresh }

    /// Its place in `all`.
    var index: Int { (isFresh ? 0 : 2) + (isProven ? 0 : 1) }

    /// Of 25 turns where all kinds wait: a fifth is for what failed before, and a fifth for what is not proven.
    var turns: Double {
        switch (isFresh, isProven) {
        case (true, true): 16
        case (true, false), (false, true): 4
        case (false, false): 1
        }
    }
}
