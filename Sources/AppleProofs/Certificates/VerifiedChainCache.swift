import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The chains that were verified lately. Apple signs for months with the same one, and verifying it costs ten times as
/// much as the signature below it.
///
/// Only chains that end in a trusted root are kept, so that nobody else can fill it. Any thread.
final class VerifiedChainCache: Sendable {
    static let defaultCapacity = 64

    private struct State {
        var entries: [ChainKey: (chain: VerifiedChain, lastUse: UInt64)] = [:]
        var uses: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    var count: Int { state.withLock { $0.entries.count } }

    func chain(for key: ChainKey) -> VerifiedChain? {
        state.withLock { state in
            guard let index = state.entries.index(forKey: key) else { return nil }
            state.uses &+= 1
            state.entries.values[index].lastUse = state.uses
            return state.entries.values[index].chain
        }
    }

    /// Displaces the one that was used longest ago.
    func insert(_ chain: VerifiedChain, for key: ChainKey) {
        state.withLock { state in
            if state.entries[key] == nil, state.entries.count >= capacity,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[oldest.key] = nil
            }
            state.uses &+= 1
            state.entries[key.copied] = (chain, state.uses)
        }
    }
}

/// A signer's certificate and its issuer's, compared byte by byte.
struct ChainKey: Hashable, Sendable {
    /// Bytes at the end of the leaf's signature, which no other leaf shares by chance. Hashing both whole costs more than
    /// comparing them, and only what Apple signed is ever a key.
    private static let hashedBytes = 32

    private let leaf: ArraySlice<UInt8>
    private let intermediate: ArraySlice<UInt8>

    init(leaf: ArraySlice<UInt8>, intermediate: ArraySlice<UInt8>) {
        self.leaf = leaf
        self.intermediate = intermediate
    }

    /// Holds its own bytes only, and not all of the receipt that they came in.
    var copied: ChainKey {
        ChainKey(leaf: ArraySlice(Array(leaf)), intermediate: ArraySlice(Array(intermediate)))
    }

    static func == (left: ChainKey, right: ChainKey) -> Bool {
        areEqual(left.leaf, right.leaf) && areEqual(left.intermediate, right.intermediate)
    }

    func hash(into hasher: inout Hasher) {
        leaf.suffix(Self.hashedBytes).withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    private static func areEqual(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        guard left.count == right.count, left.count > 0 else { return left.count == right.count }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return false }
                return memcmp(first, second, left.count) == 0
            }
        }
    }
}
