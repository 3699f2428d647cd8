import Encodings
import Fulfillment
import Identifiers
import Timestamps

/// One claim of a payload that Apple signed. What is given and cannot be read is never taken for absent: it may be the
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

    /// Nil where it is absent, and where it cannot be read: then `isComplete` ends.
    func value(noting isComplete: inout Bool) -> Value? {
        switch self {
        case .told(let value): return value
        case .absent: return nil
        case .unreadable:
            isComplete = false
            return nil
        }
    }

    /// Nil where it is absent or cannot be read.
    var told: Value? {
        if case .told(let value) = self { value } else { nil }
    }

    /// It is there, readable or not.
    var isTold: Bool {
        if case .absent = self { false } else { true }
    }
}

extension JSONValue {
    func identifier(_ name: String) -> Claim<Identifier> {
        Claim(self[name]) { $0.string.flatMap { ReceiptText.identifier($0) } }
    }

    /// Milliseconds since 1970. A time outside the years 1 to 9999 counts as unreadable: the rules count with times, and
    /// PostgreSQL stores them.
    func date(_ name: String) -> Claim<Timestamp> {
        Claim(self[name]) { claim in
            claim.integer.flatMap { Self.times.contains($0) ? Timestamp(milliseconds: $0) : nil }
        }
    }

    private static var times: ClosedRange<Int64> { -62_135_596_800_000...253_402_300_799_999 }

    /// An identifier as a text or as a whole number; nil where it is absent or cannot be read.
    func digits(_ name: String) -> Identifier? {
        identifier(name).told ?? integer(name).told.map { Identifier(String($0)) }
    }

    func integer(_ name: String) -> Claim<Int64> { Claim(self[name], \.integer) }

    func flag(_ name: String) -> Claim<Bool> {
        Claim(self[name]) { claim in
            if case .bool(let flag) = claim { flag } else { nil }
        }
    }

    func text(_ name: String) -> Claim<String> { Claim(self[name], \.string) }

    /// Of a number without a fraction, `1.7e12` too.
    private var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }
    }
}
