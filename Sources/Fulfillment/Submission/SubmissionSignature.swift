import Crypto
import Encodings

/// The optional record header `receiptd-signature`: HMAC-SHA-256 of the record's value under any of the keys.
public struct SubmissionSignature: Sendable {
    public static let headerName = "receiptd-signature"

    private let keys: [SymmetricKey]

    /// - Parameter keys: the secrets' UTF-8 bytes. Empty: nothing is checked.
    public init(keys: [String]) {
        self.keys = keys.map { SymmetricKey(data: Array($0.utf8)) }
    }

    public var isRequired: Bool { !keys.isEmpty }

    /// Whether one of `headers` is `v1=<hex>` of a valid code. Each code is compared in constant time, with every key.
    public func accepts(_ value: [UInt8], headers: [[UInt8]]) -> Bool {
        var accepted = false
        for header in headers {
            guard let code = Self.code(in: header) else { continue }
            for key in keys where HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: value, using: key) {
                accepted = true
            }
        }
        return accepted
    }

    /// What a sender puts into the header: under the first key. Nil where there is none.
    public func header(for value: [UInt8]) -> [UInt8]? {
        guard let key = keys.first else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        let code = HMAC<SHA256>.authenticationCode(for: value, using: key)
        return Array("v1=".utf8) + code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }
    }

    private static func code(in header: [UInt8]) -> [UInt8]? {
        let prefix = Array("v1=".utf8)
        guard header.starts(with: prefix), header.count == prefix.count + 64 else { return nil }
        let digits = header.dropFirst(prefix.count).compactMap(HexDigit.value(of:))
        guard digits.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
