import Crypto

/// A SHA-256 digest.
public struct Digest256: Sendable, Hashable {
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    public init(hashing data: [UInt8]) {
        bytes = SHA256.hash(data: data).withUnsafeBytes { Array($0) }
    }
}
