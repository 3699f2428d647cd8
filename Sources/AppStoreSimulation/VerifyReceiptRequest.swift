#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Apple's request, found in the bytes by a scanner that never recurses: `receipt-data` is by far the most of it and is
/// handed on without a copy unless the JSON escaped something in it.
struct VerifyReceiptRequest {
    /// A JSON string: where its contents lie in the body, or its contents when it held escapes.
    enum Text {
        case slice(Range<Int>)
        case unescaped([UInt8])

        func withBytes<Result>(of body: UnsafeRawBufferPointer, _ use: (UnsafeRawBufferPointer) -> Result) -> Result {
            switch self {
            case .slice(let range): use(UnsafeRawBufferPointer(rebasing: body[range]))
            case .unescaped(let bytes): bytes.withUnsafeBytes(use)
            }
        }

        func string(of body: UnsafeRawBufferPointer) -> String {
            withBytes(of: body) { String(decoding: $0, as: UTF8.self) }
        }
    }

    var receiptData: Text?
    var password: Text?
    var excludesOldTransactions = false

    /// nil when the body is not a JSON object.
    init?(_ body: UnsafeRawBufferPointer) {
        var scanner = JSONScanner(bytes: body)
        guard scanner.take(UInt8(ascii: "{")) else { return nil }
        if scanner.take(UInt8(ascii: "}")) { return }
        repeat {
            guard let key = scanner.text(), scanner.take(UInt8(ascii: ":")) else { return nil }
            switch key.string(of: body) {
            case "receipt-data" where scanner.peek == UInt8(ascii: "\""):
                guard let value = scanner.text() else { return nil }
                receiptData = value
            case "password" where scanner.peek == UInt8(ascii: "\""):
                guard let value = scanner.text() else { return nil }
                password = value
            case "exclude-old-transactions":
                excludesOldTransactions = scanner.peek == UInt8(ascii: "t")
                guard scanner.skipValue() else { return nil }
            default:
                guard scanner.skipValue() else { return nil }
            }
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "}")) else { return nil }
    }
}

struct JSONScanner {
    let bytes: UnsafeRawBufferPointer
    var position = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The next byte that is not whitespace.
    var peek: UInt8? {
        mutating get {
            while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
            return position < bytes.count ? bytes[position] : nil
        }
    }

    mutating func take(_ character: UInt8) -> Bool {
        guard peek == character else { return false }
        position += 1
        return true
    }

    mutating func text() -> VerifyReceiptRequest.Text? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = position
        guard let quote = index(of: UInt8(ascii: "\""), from: start) else { return nil }
        if index(of: UInt8(ascii: "\\"), from: start, to: quote) == nil {
            position = quote + 1
            return .slice(start..<quote)
        }
        return unescape()
    }

    /// Steps over one value of any kind; depth is only counted, so nesting costs nothing.
    mutating func skipValue() -> Bool {
        var depth = 0
        repeat {
            guard let character = peek else { return false }
            switch character {
            case UInt8(ascii: "\""):
                guard text() != nil else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return false }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { return false }
                position += 1
            default:
                skipLiteral()
            }
        } while depth > 0
        return true
    }

    private mutating func skipLiteral() {
        while position < bytes.count, bytes[position] > 0x20 {
            switch bytes[position] {
            case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "{"),
                UInt8(ascii: "["), UInt8(ascii: "\""):
                return
            default: position += 1
            }
        }
    }

    private mutating func unescape() -> VerifyReceiptRequest.Text? {
        var output: [UInt8] = []
        while position < bytes.count {
            let character = bytes[position]
            position += 1
            if character == UInt8(ascii: "\"") { return .unescaped(output) }
            guard character == UInt8(ascii: "\\") else {
                output.append(character)
                continue
            }
            guard position < bytes.count else { return nil }
            let escaped = bytes[position]
            position += 1
            switch escaped {
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "u"):
                guard let unit = hexadecimalUnit() else { return nil }
                // Surrogates become the replacement character: no field here has any use for them.
                output.append(contentsOf: String(Unicode.Scalar(unit) ?? "\u{FFFD}").utf8)
            default: output.append(escaped)
            }
        }
        return nil
    }

    private mutating func hexadecimalUnit() -> UInt16? {
        guard bytes.count - position >= 4 else { return nil }
        let digits = String(decoding: bytes[position..<(position + 4)], as: UTF8.self)
        position += 4
        return UInt16(digits, radix: 16)
    }

    private func index(of character: UInt8, from start: Int, to end: Int? = nil) -> Int? {
        let end = end ?? bytes.count
        guard start < end, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(character), end - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }
}
