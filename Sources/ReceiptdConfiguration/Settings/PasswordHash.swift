import Encodings

/// The scrypt hash of a password in the PHC string format, `$scrypt$ln=15,r=8,p=1$salt$hash`, with base64 without
/// padding. receiptd treats the hash as a secret too.
package struct PasswordHash: Sendable, Equatable {
    /// The cost is `2^logRounds` rounds over `128 * blockSize` bytes, `parallelism` times. The ranges are small,
    /// because every sign-in has this cost.
    package static let logRoundsRange = 10...17
    package static let blockSizeRange = 1...16
    package static let parallelismRange = 1...4
    /// The allowed numbers of bytes of the salt. `digestRange` has the allowed numbers of bytes of the hash.
    private static let saltRange = 8...64
    private static let digestRange = 16...64

    package let logRounds: Int
    package let blockSize: Int
    package let parallelism: Int
    package let salt: [UInt8]
    package let digest: [UInt8]

    package init(logRounds: Int, blockSize: Int, parallelism: Int, salt: [UInt8], digest: [UInt8]) {
        self.logRounds = logRounds
        self.blockSize = blockSize
        self.parallelism = parallelism
        self.salt = salt
        self.digest = digest
    }

    /// Returns nil, and no reason, if `text` is no such hash or costs too much: the text may be a password.
    package init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt" else { return nil }
        let costs = parts[2].split(separator: ",", omittingEmptySubsequences: false)
        guard costs.count == 3, let logRounds = Self.number("ln=", in: costs[0], Self.logRoundsRange),
            let blockSize = Self.number("r=", in: costs[1], Self.blockSizeRange),
            let parallelism = Self.number("p=", in: costs[2], Self.parallelismRange),
            let salt = Base64.decode(parts[3].utf8), Self.saltRange.contains(salt.count),
            let digest = Base64.decode(parts[4].utf8), Self.digestRange.contains(digest.count)
        else { return nil }
        self.init(
            logRounds: logRounds, blockSize: blockSize, parallelism: parallelism, salt: salt, digest: digest)
    }

    private static func number(_ name: String, in text: Substring, _ range: ClosedRange<Int>) -> Int? {
        guard text.hasPrefix(name) else { return nil }
        let digits = text.dropFirst(name.count)
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits) else { return nil }
        return range.contains(number) ? number : nil
    }

    /// The hash in the form of `CONSOLE_USERS`.
    package var text: String {
        func base64(_ bytes: [UInt8]) -> String { Base64.encode(bytes).replacing("=", with: "") }
        return "$scrypt$ln=\(logRounds),r=\(blockSize),p=\(parallelism)$\(base64(salt))$\(base64(digest))"
    }
}

extension PasswordHash: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "PasswordHash" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
