import Crypto
import Encodings

/// The optional record header `receiptd-signature`: an HMAC-SHA-256 with one of the secrets in
/// `SUBMISSION_SIGNING_KEYS`.
///
/// `v1` covers only a record's value. receiptd accepts `v1` only for submissions, because no decision depends on the
/// record key of a submission. `v2` also covers the topic's kind and the record's key. So nobody can pass off a signed
/// record of one kind as a record of another kind.
public struct RecordSignature: Sendable {
    public static let headerName = "receiptd-signature"

    /// The kind of a topic's records. A `v2` signature covers the kind's raw value, whatever the topic's own name is.
    public enum Kind: String, Sendable, CaseIterable {
        case submissions = "receipt-submissions"
        case accounts = "player-accounts"
        case consumption = "receipt-consumption"

        /// True if a signature of the value alone is enough.
        var takesValueOnly: Bool { self == .submissions }
    }

    private enum Version: String, CaseIterable {
        case one = "v1="
        case two = "v2="
    }

    private let keys: [SymmetricKey]
    private let kind: Kind

    /// - Parameters:
    ///   - keys: the secrets, whose UTF-8 bytes are the keys. If there are none, receiptd checks no signatures.
    ///   - kind: the kind of the topic's records.
    public init(keys: [String], of kind: Kind) {
        self.keys = keys.map { SymmetricKey(data: Array($0.utf8)) }
        self.kind = kind
    }

    public var isRequired: Bool { !keys.isEmpty }

    /// Returns a dead letter if no signature in `headers` is valid. Returns nil if a signature is valid, or if receiptd
    /// requires no signature.
    /// - Parameters:
    ///   - key: the record's key; nil counts as empty.
    ///   - headers: the values of every header `receiptd-signature` of the record.
    public func refusal(ofKey key: [UInt8]?, value: [UInt8], headers: [[UInt8]]) -> DeadLetter? {
        guard isRequired, !accepts(key: key, value: value, headers: headers) else { return nil }
        let detail =
            if headers.isEmpty {
                "the signature header is missing"
            } else if !kind.takesValueOnly, headers.allSatisfy({ $0.starts(with: Array(Version.one.rawValue.utf8)) }) {
                "a v1 signature does not cover the record's key: this topic takes v2 only"
            } else {
                "the signature matches none of SUBMISSION_SIGNING_KEYS"
            }
        return DeadLetter(reason: .badSignature, detail: detail)
    }

    /// Returns whether one of `headers` is a valid signature. Compares each signature with every key, in constant time.
    public func accepts(key: [UInt8]?, value: [UInt8], headers: [[UInt8]]) -> Bool {
        var accepted = false
        for header in headers {
            for version in Version.allCases where version == .two || kind.takesValueOnly {
                guard let code = Self.code(in: header, version) else { continue }
                let input = input(version, key: key, value: value)
                for secret in keys
                where HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: input, using: secret) {
                    accepted = true
                }
            }
        }
        return accepted
    }

    /// Returns the header with the signature by the first secret; nil if there is no secret.
    /// - Parameter key: the record's key; nil counts as empty.
    public func header(ofKey key: [UInt8]?, value: [UInt8]) -> [UInt8]? {
        guard let secret = keys.first else { return nil }
        let version = kind.takesValueOnly ? Version.one : .two
        let digits = Array("0123456789abcdef".utf8)
        let code = HMAC<SHA256>.authenticationCode(for: input(version, key: key, value: value), using: secret)
        return Array(version.rawValue.utf8) + code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }
    }

    /// Returns the bytes that a signature covers. These bytes include the key's length. Otherwise a signature would
    /// stay valid if bytes moved from the value to the key.
    private func input(_ version: Version, key: [UInt8]?, value: [UInt8]) -> [UInt8] {
        switch version {
        case .one: return value
        case .two:
            let key = key ?? []
            return Array("receiptd-v2\n\(kind.rawValue)\n\(key.count)\n".utf8) + key + value
        }
    }

    private static func code(in header: [UInt8], _ version: Version) -> [UInt8]? {
        let prefix = Array(version.rawValue.utf8)
        guard header.starts(with: prefix), header.count == prefix.count + 64 else { return nil }
        let digits = header.dropFirst(prefix.count).compactMap(HexDigit.value(of:))
        guard digits.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
