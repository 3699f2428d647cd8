import Encodings

/// The worker's results that the runner saw: events, dead letters, rows and commits.
public struct Seen: Sendable {
    /// The events in the order of each partition, including repeated ones.
    public var events: [Event] = []
    public var deadLetters: [DeadLetter] = []
    /// The grants by transaction id.
    public var grants: [String: GrantRow] = [:]
    /// The subscriptions by original transaction id.
    public var subscriptions: [String: SubscriptionFact] = [:]
    /// The committed offsets at several times of the history.
    public var commits: [CommitLook] = []
    /// The spans of time in which the worker must send Apple few requests or none.
    public var quiets: [Quiet] = []
    /// The transactions that workers finished at Apple.
    public var finished: Set<String> = []
    /// The workers' answers to refund requests, oldest first, by transaction id.
    public var answers: [String: [ConsumptionAnswer]] = [:]

    public init() {}
}

/// The committed offsets and the durable outcomes at one time.
public struct CommitLook: Sendable {
    /// The committed offset of each partition of the submissions topic.
    public let committed: [Int32: Int64]
    /// The positions of submissions that were decided or parked in the database, or answered on the outcomes topic.
    public let durable: Set<Place>

    public init(committed: [Int32: Int64], durable: Set<Place>) {
        self.committed = committed
        self.durable = durable
    }
}

/// A span of time in which Apple must get few requests or none.
public struct Quiet: Sendable {
    /// The reason for the limit, for people.
    public let cause: String
    /// The number of requests that Apple got in this time.
    public let asked: Int
    public let allowed: Int

    public init(cause: String, asked: Int, allowed: Int) {
        self.cause = cause
        self.asked = asked
        self.allowed = allowed
    }
}

/// A worker's answer to a refund request.
public struct ConsumptionAnswer: Sendable, Equatable {
    /// True if `deliveryStatus` is `DELIVERED`.
    public let isDelivered: Bool
    /// The consumed percentage; nil if the answer has none.
    public let percentage: Int?

    public init(isDelivered: Bool, percentage: Int?) { (self.isDelivered, self.percentage) = (isDelivered, percentage) }
}

/// A record of the outcomes topic.
public struct Event: Sendable {
    public let place: Place
    public let key: String
    public let json: JSONValue
    public let id: String
    public let type: String
    public let player: String
    public let submission: String
    public let transaction: String?
    public let reason: String?

    /// Returns nil if the value is no JSON object with an event id, a type and a player id.
    public init?(place: Place, key: [UInt8]?, value: [UInt8]?) {
        guard let value, let json = try? JSONParser.parse(value).value, let id = json["event_id"]?.string,
            let type = json["type"]?.string, let player = json["player_id"]?.string
        else { return nil }
        self.place = place
        self.key = String(decoding: key ?? [], as: UTF8.self)
        self.json = json
        self.id = id
        self.type = type
        self.player = player
        submission = json["submission_id"]?.string ?? ""
        transaction = json["transaction_id"]?.string
        reason = json["reason"]?.string
    }

    /// The members of an event by which a consumer acts. `purchased_at` is not among them, because a receipt has it in
    /// whole seconds, and Apple's other data in milliseconds.
    private static let effects: Set<String> = [
        "type", "player_id", "bundle_id", "transaction_id", "original_transaction_id", "product_id", "quantity",
        "environment", "revision", "payload", "units", "revocation_percentage", "reason", "state",
    ]

    /// The part of the event that must not change if a worker decides the submission again after a restore.
    var effect: JSONValue {
        guard case .object(let members) = json else { return json }
        return .object(members.filter { Self.effects.contains($0.name) })
    }

    public var entries: [(transaction: String, outcome: String, reason: String?)] {
        (json["transactions"]?.array ?? []).map {
            ($0["transaction_id"]?.string ?? "", $0["outcome"]?.string ?? "", $0["reason"]?.string)
        }
    }

    /// The time of the decision, as text that sorts by time. Without the final `Z`, a time with a fraction sorts after
    /// its whole second.
    var decidedAt: Substring { (text("occurred_at") ?? "").dropLast() }

    /// Returns the whole number in a member; nil if there is none.
    public func number(_ name: String) -> Int? {
        if case .number(let text)? = json[name] { Int(text) } else { nil }
    }

    /// Returns the text in a member; nil if there is none.
    public func text(_ name: String) -> String? { json[name]?.string }

    /// Returns the boolean in a member; nil if there is none.
    public func flag(_ name: String) -> Bool? {
        if case .bool(let value)? = json[name] { value } else { nil }
    }
}

public struct DeadLetter: Sendable {
    public let reason: String
    public let place: Place

    public init(reason: String, place: Place) {
        self.reason = reason
        self.place = place
    }
}

/// A row of `grants`.
public struct GrantRow: Sendable {
    public let player: String
    public let product: String
    public let quantity: Int
    public let isInForce: Bool
    /// The number of revoked units; nil if the model must not judge the number.
    public let revokedUnits: Int?

    public init(player: String, product: String, quantity: Int, isInForce: Bool, revokedUnits: Int? = nil) {
        self.player = player
        self.product = product
        self.quantity = quantity
        self.isInForce = isInForce
        self.revokedUnits = revokedUnits
    }
}

/// A rule of the contract that the worker broke.
public struct Difference: Sendable, Hashable, CustomStringConvertible {
    public enum Rule: String, Sendable {
        case oneContent = "one event id has one content"
        case oneGrant = "what is paid once is granted once"
        case onePlayer = "a purchase belongs to one player at most"
        case paidArrives = "what is paid arrives"
        case grantsAreEarned = "nothing is granted without a proof of it"
        case grantsAreTrue = "a grant says what Apple said"
        case answered = "every submission reaches its answer"
        case answeredRightly = "an answer is one that the contract allows"
        case revisions = "revisions count up for a transaction"
        case refunds = "the newest event of a purchase agrees with Apple"
        case winners = "what a submission won stays its own"
        case subscriptions = "a subscription is as Apple says"
        case ledger = "the ledger agrees with the events"
        case order = "a player's events are in order"
        case reports = "Apple hears what was delivered"
        case progress = "what cannot be answered holds up nobody else"
        case commits = "commits never run ahead"
        case appleSpared = "Apple is spared where it asks for it or is down"
        case survives = "no process ends by a signal of its own"
        case wellFormed = "events have the form of the contract"
    }

    public let rule: Rule
    public let text: String

    init(_ rule: Rule, _ text: String) {
        self.rule = rule
        self.text = text
    }

    public var description: String { "\(rule.rawValue): \(text)" }
}

extension Difference {
    /// - Parameter late: a submission that the worker did not decide while other submissions failed.
    public init(late: String) {
        self.init(.progress, "\(late) was not decided in time, though Apple answers for it")
    }

    /// - Parameter crashed: a worker or a command that ended by a signal of its own.
    public init(crashed: String) {
        self.init(.survives, crashed)
    }

    /// - Parameter unquiet: the work that was still not done when the wait for idle workers ended.
    public init(unquiet: String) {
        self.init(.progress, "it is never done: \(unquiet)")
    }
}
