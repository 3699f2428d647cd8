import Encodings
import Fulfillment
import NamesAndTimes

/// A field of Apple's answer, in every form that Apple uses. Apple writes some numbers as text, some text as numbers,
/// and some booleans as numbers or text.
///
/// An absent member, null and the empty string count as absent. An unreadable value never counts as absent.
enum LenientField<Value> {
    case absent
    case unreadable
    case value(Value)

    /// The value; nil if it is absent or unreadable. Use `told` for fields on which no rule depends.
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

/// The fault of an answer that names no app, or whose purchases receiptd cannot read. receiptd grants nothing from an
/// incomplete answer, and asks Apple again.
struct IncompleteAnswer: Error {}

/// Reads the fields of an element, and keeps the names of the unreadable fields.
struct FieldReader {
    private(set) var unreadable: [String] = []

    /// Returns the field's value; nil if it is absent or unreadable. Keeps the `name` of an unreadable field. If a
    /// field has several spellings, `name` is the first.
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

    /// The value of a whole number without fraction or exponent, from a JSON number or a string; nil for anything else.
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

    /// Reads true, false, 1 or 0, as a JSON value or in a string.
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

    /// Reads an identifier: text of bounded length without NUL, or the digits of a whole JSON number.
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

    /// Returns the field as text, even if it is not a valid identifier; nil if it is neither text nor a number.
    func shownText(_ name: String) -> String? {
        switch told(name) {
        case .string(let text)?, .number(let text)?: text
        default: nil
        }
    }

    /// Reads a date from the first readable of several fields. The date is unreadable only if a field is present and
    /// none is readable.
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
            // A purchase's date is after the first moment of 1970 and before the year 10000.
            return (1...253_402_300_799_999).contains(milliseconds) ? Timestamp(milliseconds: milliseconds) : nil
        }
        guard let text = string else { return nil }
        let zone = " Etc/GMT"
        return Timestamp(rfc3339: text.hasSuffix(zone) ? text.dropLast(zone.count) + "Z" : text)
    }
}
