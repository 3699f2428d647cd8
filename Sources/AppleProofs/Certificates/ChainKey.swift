#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The certificates of a signer and of its issuer, compared byte by byte.
struct ChainKey: Hashable, Sendable {
    /// The number of hashed bytes, from the end of the leaf's signature. No two leaves share these bytes by chance. A
    /// hash of both certificates would cost more than their comparison. Only Apple could make two cached chains with
    /// equal hashes, because the cache has only verified chains.
    private static let hashedBytes = 32

    private let leaf: ArraySlice<UInt8>
    private let intermediate: ArraySlice<UInt8>

    init(leaf: ArraySlice<UInt8>, intermediate: ArraySlice<UInt8>) {
        self.leaf = leaf
        self.intermediate = intermediate
    }

    /// A copy that keeps only the certificates' bytes in memory, not the whole receipt.
    var copied: ChainKey {
        ChainKey(leaf: ArraySlice(Array(leaf)), intermediate: ArraySlice(Array(intermediate)))
    }

    static func == (left: ChainKey, right: ChainKey) -> Bool {
        areEqual(left.leaf, right.leaf) && areEqual(left.intermediate, right.intermediate)
    }

    func hash(into hasher: inout Hasher) {
        leaf.suffix(Self.hashedBytes).withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Returns whether both certificates have the same bytes. Array's own comparison takes one byte at a time.
    static func areEqual(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        guard left.count == right.count, left.count > 0 else { return left.count == right.count }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return false }
                return memcmp(first, second, left.count) == 0
            }
        }
    }
}
