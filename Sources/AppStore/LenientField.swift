import Encodings
import Fulfillment
import NamesAndTimes

/// A field of Apple's answer, in each form that Apple uses: Apple writes numbers also as text, text also as numbers,
/// and booleans as either.
///
/// An absent member, null and the empty string all count as absent. A value that is there and cannot be read never
/// counts as absent.
enum LenientField<Value> {
    case absent
    case unreadable
    case value(Value)

    /// The value; nil if it is absent or unreadable. It serves fields that decide nothing.
    var told: Value? {
        if case .value(let value) = self { value } else { nil }
    }

    /// Returns the value; nil if it is absent. Throws if it is unreadable.
    func optional() throws(IncompleteAnswer) -> Value? {
        switch self {
        case .absent: nil
        case .unreadable: throw IncompleteAnswer()
        case .value(let value): value
        }
    }
}

/// The fault of an answer that names no app, or whose purchases cannot be read. receiptd grants nothing from such an
/// answer and asks Apple again, so that nothing is lost.
struct IncompleteAnswer: Error {}

/// Reads the fields of an element, and keeps the names of the fields that are there and cannot be read.
struct FieldReader {
    private(set) var unreadable: [String] = []

    /// Returns the field's value; nil if it is absent or unreadable. An unreadable field is noted by `name`, Apple's
    /// first spelling of it.
    mutating func callAsFunction<Value>(_ name: String, _ field: LenientField<Value>) -> Value? {
        if case .unreadable = field, !unreadable.contains(name) { unreadable.append(name) }
        return field.told
    }

    mutating func note(_ name: String) { _ = self(name, LenientField<Bool>.unreadable) }
}

extension JSONValue {
    /// The most Unicode scalars of an identifier.
    static let maximumIdentifierLength = 128

    /// Returns the member's value; nil if it is absent, null or empty.
    func told(_ name: String) -> JSONValue? {
        switch self[name] {
        case nil, .null: nil
        case .string(let text) where text.isEmpty: nil
        case let value: value
        }
    }

    /// The value as a whole number without fraction or exponent, from a JSON number or a string; nil if it is none.
    var wholeNumber: Int64? {
        switch self {
        case .number(let text): Int64(text)
        case .string(let text) where text.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2D }): Int64(text)
        default: nil
        }
    }

    func wholeNumber(_ name: String) -> LenientField<Int64> {
        guard let told = told(name) else { return .absent }
        return told.wholeNumber.map(LenientField.value) ?? .unreadable
    }

    /// Reads true, false, 1 or 0, each of them also in a string.
    func flag(_ name: String) -> LenientField<Bool> {
        switch told(name) {
        case nil: .absent
        case .bool(let flag): .value(flag)
        case .number("1"), .string("1"), .string("true"), .string("True"), .string("TRUE"): .value(true)
        case .number("0"), .string("0"), .string("false"), .string("False"), .string("FALSE"): .value(false)
        default: .unreadable
        }
    }

    func text(_ name: String) -> LenientField<String> {
        guard let told = told(name) else { return .absent }
        return told.string.map(LenientField.value) ?? .unreadable
    }

    /// Reads a name or number that identifies something: text of bounded length without NUL, or the digits of a whole
    /// JSON number.
    func identifier(_ name: String) -> LenientField<Identifier> {
        switch told(name) {
        case nil: .absent
        case .string(let text):
            text.unicodeScalars.count <= Self.maximumIdentifierLength && !text.utf8.contains(0)
                ? .value(Identifier(text)) : .unreadable
        case .number(let text):
            text.utf8.count <= Self.maximumIdentifierLength && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
                ? .value(Identifier(text)) : .unreadable
        default: .unreadable
        }
    }

    func transactionID(_ name: String) -> LenientField<StoreTransactionID> {
        switch identifier(name) {
        case .absent: .absent
        case .unreadable: .unreadable
        case .value(let id): TransactionIDText.read(id.text).map(LenientField.value) ?? .unreadable
        }
    }

    /// Reads a whole number of at least 1.
    func quantity(_ name: String) -> LenientField<Int32> {
        switch wholeNumber(name) {
        case .absent: return .absent
        case .unreadable: return .unreadable
        case .value(let number):
            guard let quantity = Int32(exactly: number), quantity >= 1 else { return .unreadable }
            return .value(quantity)
        }
    }

    func accountToken(_ name: String) -> LenientField<AccountToken> {
        switch text(name) {
        case .absent: .absent
        case .unreadable: .unreadable
        case .value(let text):
            AccountToken(told: text) == .malformed ? .unreadable : .value(AccountToken(told: text))
        }
    }

    /// The field as text, whether or not it is a valid identifier; nil if it is neither text nor number.
    func shownText(_ name: String) -> String? {
        switch told(name) {
        case .string(let text)?, .number(let text)?: text
        default: nil
        }
    }

    /// Reads the first readable of several spellings of one date. The date is unreadable only if a spelling is there
    /// and none can be read.
    func date(_ names: String...) -> LenientField<Timestamp> {
        var isTold = false
        for name in names {
            guard let told = told(name) else { continue }
            isTold = true
            if let date = told.date { return .value(date) }
        }
        return isTold ? .unreadable : .absent
    }

    /// The date from milliseconds since 1970, `2017-01-13 05:04:52 Etc/GMT` or RFC 3339; nil for anything else.
    private var date: Timestamp? {
        if let milliseconds = wholeNumber {
            // A purchase's date lies after the first moment of 1970 and before the year 10000.
            return (1...253_402_300_799_999).contains(milliseconds) ? Timestamp(milliseconds: milliseconds) : nil
        }
        guard let text = string else { return nil }
        let zone = " Etc/GMT"
        return Timestamp(rfc3339: text.hasSuffix(zone) ? text.dropLast(zone.count) + "Z" : text)
    }
}
