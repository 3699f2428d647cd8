import NamesAndTimes

/// One try to get Apple's answer, stored for people. The try has no secret, and no content of the receipt.
public struct AppleTry: Sendable, Equatable {
    /// The most tries that a submission keeps. Newer tries replace older tries.
    public static let maximumKept = 8

    /// The time at which the try ended.
    public let at: Timestamp
    /// The endpoint; nil if the try sent no request. In that case the answer came from another submission's request
    /// with this proof, or receiptd held the request back because of a limit or a missing secret.
    public let endpoint: String?
    public let environment: StoreEnvironment?
    /// The result, as a label of `receiptd_apple_requests_total{result}`.
    public let result: String
    /// Apple's status, or the HTTP status if Apple gave none; nil if there was neither.
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

    /// Makes a try without a request.
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
    /// The label of `receiptd_apple_requests_total{result}`.
    public var label: String {
        switch self {
        case .genuine: "genuine"
        case .refused: "refused"
        case .blocked: "blocked"
        case .trouble(let trouble): trouble.kind.rawValue
        }
    }
}
