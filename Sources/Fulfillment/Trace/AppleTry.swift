import NamesAndTimes

/// One try for an answer of Apple's, as people look it up later. It holds no secret, and nothing of the receipt.
public struct AppleTry: Sendable, Equatable {
    /// The most of one submission's last tries.
    public static let maximumKept = 8

    /// The time at which it ended.
    public let at: Timestamp
    /// Nil where no request was sent for it: the answer was that to another submission's request with the same proof,
    /// or something in front of Apple (a limit, a missing secret) kept it back.
    public let endpoint: String?
    public let environment: StoreEnvironment?
    /// A label value of `receiptd_apple_requests_total{result}`.
    public let result: String
    /// Apple's own, else that of HTTP; nil where there was none.
    public let status: Int64?
    /// The milliseconds from the request's start to its end.
    public let milliseconds: Int64

    public init(
        at: Timestamp, endpoint: String?, environment: StoreEnvironment?, result: String, status: Int64?,
        milliseconds: Int64
    ) {
        self.at = at
        self.endpoint = endpoint
        self.environment = environment
        self.result = result
        self.status = status
        self.milliseconds = milliseconds
    }

    /// One without a request.
    public init(at: Timestamp, answer: AppleAnswer) {
        self.init(at: at, endpoint: nil, environment: nil, result: answer.label, status: nil, milliseconds: 0)
    }
}

extension [AppleTry] {
    public mutating func note(_ latest: AppleTry) {
        if count >= AppleTry.maximumKept { removeFirst(count - AppleTry.maximumKept + 1) }
        append(latest)
    }
}

extension AppleAnswer {
    /// A label value of `receiptd_apple_requests_total{result}`.
    public var label: String {
        switch self {
        case .genuine: "genuine"
        case .refused: "refused"
        case .blocked: "blocked"
        case .trouble(let trouble): trouble.kind.rawValue
        }
    }
}
