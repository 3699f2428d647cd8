import Encodings
import Fulfillment
import NamesAndTimes

/// One claim of a payload that Apple signed. An unreadable claim never counts as absent, because the claim may be a
/// refund.
enum Claim<Value> {
    case absent
    case unreadable
    case told(Value)

    init(_ claim: JSONValue?, _ read: (JSONValue) -> Value?) {
        switch claim {
        case nil, .null: self = .absent
        case let claim?: self = read(claim).map(Claim.told) ?? .unreadable
        }
    }

    /// The value; nil if the claim is absent or unreadable.
    var told: Value? {
        if case .told(let value) = self { value } else { nil }
    }

    /// The claim. An absent claim counts as unreadable, because Apple never leaves the field out.
    var orUnreadable: Claim { isTold ? self : .unreadable }

    /// True if the claim is present, readable or not.
    var isTold: Bool {
        if case .absent = self { false } else { true }
    }
}

/// Reads the claims of one signed payload, and keeps the names of the unreadable claims.
struct ClaimReader {
    private let payload: JSONValue
    private(set) var unreadable: [String] = []

    init(_ payload: JSONValue) {
        self.payload = payload
    }

    /// Returns the claim's value; nil if the claim is absent or unreadable. Keeps the name of an unreadable claim.
    mutating func callAsFunction<Value>(_ name: String, _ read: (JSONValue) -> (String) -> Claim<Value>) -> Value? {
        switch read(payload)(name) {
        case .told(let value): return value
        case .absent: return nil
        case .unreadable:
            unreadable.append(name)
            return nil
        }
    }
}

extension JSONValue {
    func transactionID(_ name: String) -> Claim<StoreTransactionID> {
        Claim(self[name]) { $0.string.flatMap { TransactionIDText.read($0) } }
    }

    func accountToken(_ name: String) -> Claim<AccountToken> {
        Claim(self[name]) { claim in
            claim.string.map(AccountToken.init(told:)).flatMap { $0 == .malformed ? nil : $0 }
        }
    }

    /// Reads a whole number of at least 1.
    func quantity(_ name: String) -> Claim<Int32> {
        Claim(self[name]) { claim in claim.integer.flatMap { Int32(exactly: $0) }.flatMap { $0 >= 1 ? $0 : nil } }
    }

    func identifier(_ name: String) -> Claim<Identifier> {
        Claim(self[name]) { $0.string.flatMap { ReceiptText.identifier($0) } }
    }

    /// Reads milliseconds since 1970. A time outside the years 1 to 9999 counts as unreadable, because the rules
    /// compute with times and PostgreSQL stores them.
    func date(_ name: String) -> Claim<Timestamp> {
        Claim(self[name]) { claim in
            claim.integer.flatMap { Self.times.contains($0) ? Timestamp(milliseconds: $0) : nil }
        }
    }

    private static var times: ClosedRange<Int64> { -62_135_596_800_000...253_402_300_799_999 }

    /// Returns the identifier in a text or a whole number; nil if the claim is absent or unreadable.
    func digits(_ name: String) -> Identifier? {
        identifier(name).told ?? integer(name).told.map { Identifier(String($0)) }
    }

    /// True for a number of milliseconds outside the years 1 to 9999. No certificate was valid at such a time.
    var isOutsideAllTimes: Bool {
        guard case .number(let text) = self, let number = Double(text) else { return false }
        return number < Double(Self.times.lowerBound) || number > Double(Self.times.upperBound)
    }

    func integer(_ name: String) -> Claim<Int64> { Claim(self[name], \.integer) }

    func flag(_ name: String) -> Claim<Bool> {
        Claim(self[name]) { claim in
            if case .bool(let flag) = claim { flag } else { nil }
        }
    }

    func text(_ name: String) -> Claim<String> { Claim(self[name], \.string) }

    /// The value of a number without a fraction, also in the form `1.7e12`; nil for anything else.
    private var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }
    }
}
