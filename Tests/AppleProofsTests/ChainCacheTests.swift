import Crypto
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("The cache of verified certificate chains")
struct ChainCacheTests {
    private func chain(_ milliseconds: Int64) -> VerifiedChain {
        VerifiedChain(key: .other, validity: Timestamp(milliseconds: milliseconds)...Timestamp(milliseconds: .max))
    }

    private func key(_ number: UInt8, under authority: UInt8 = 0) -> ChainKey {
        ChainKey(leaf: [7, number], intermediate: [authority])
    }

    @Test("a full chain cache evicts the least recently used chain")
    func bound() {
        let cache = VerifiedChainCache(capacity: 3)
        for number in 1...3 { cache.insert(chain(Int64(number)), for: key(UInt8(number))) }
        #expect(cache.chain(for: key(1)) != nil)
        cache.insert(chain(4), for: key(4))
        cache.insert(chain(5), for: key(4))
        #expect(cache.count == 3)
        #expect(cache.chain(for: key(2)) == nil)
        #expect(cache.chain(for: key(4))?.validity.lowerBound == Timestamp(milliseconds: 5))
        #expect(cache.chain(for: key(1)) != nil && cache.chain(for: key(3)) != nil)
    }

    @Test("the chain cache stores one leaf under two intermediates as two chains")
    func twoAuthorities() {
        let cache = VerifiedChainCache(capacity: 2)
        cache.insert(chain(1), for: key(1, under: 1))
        cache.insert(chain(2), for: key(1, under: 2))
        #expect(cache.count == 2)
        for authority in 1...2 {
            let found = cache.chain(for: key(1, under: UInt8(authority)))
            #expect(found?.validity.lowerBound == Timestamp(milliseconds: Int64(authority)))
        }
        cache.insert(chain(3), for: key(1, under: 3))
        #expect(cache.chain(for: key(1, under: 1)) == nil && cache.chain(for: key(1, under: 2)) != nil)
    }

    @Test("the chain cache finds a chain only if every byte of the leaf and of the intermediate matches")
    func everyByte() {
        let cache = VerifiedChainCache(capacity: 3)
        let (leaf, intermediate) = ([UInt8](0..<100), [UInt8](100..<200))
        let received = [0, 0] + leaf + intermediate
        cache.insert(chain(1), for: ChainKey(leaf: received[2..<102], intermediate: received[102...]))
        #expect(cache.chain(for: ChainKey(leaf: leaf[...], intermediate: intermediate[...])) != nil)
        for index in 0..<100 {
            var changed = leaf
            changed[index] ^= 1
            #expect(cache.chain(for: ChainKey(leaf: changed[...], intermediate: intermediate[...])) == nil)
            changed = intermediate
            changed[index] ^= 1
            #expect(cache.chain(for: ChainKey(leaf: leaf[...], intermediate: changed[...])) == nil)
        }
        #expect(cache.chain(for: ChainKey(leaf: [], intermediate: [])) == nil)
    }

    @Test(
        "if the chain is cached, a receipt with a wrong signature, a late date or a changed certificate is still forged"
    )
    func remembersNoMore() throws {
        let authority = try TestAuthority.receipts()
        let reader = authority.reader
        #expect(reader.readReceipt(try TestReceipt().signed(by: authority)).signature == .proven)
        var bytes = try TestReceipt().signed(by: authority)
        bytes[bytes.count - 1] ^= 1
        #expect(reader.readReceipt(bytes).signature == .forged(.signature))
        let late = try TestReceipt(creationDate: "2031-01-01T00:00:00Z").signed(by: authority)
        #expect(reader.readReceipt(late).signature == .forged(.notValidThen))
        var leaf = authority.leaf
        leaf[leaf.count - 1] ^= 1
        let other = try TestReceipt().signed(by: authority, certificates: [leaf, authority.intermediate])
        #expect(reader.readReceipt(other).signature == .forged(.brokenChain))
        #expect(reader.readReceipt(try TestReceipt().signed(by: authority)).signature == .proven)
    }

    @Test("the chain cache stores only chains that end in a trusted root")
    func forgersCannotFillIt() throws {
        let authority = try TestAuthority.receipts()
        let cache = VerifiedChainCache(capacity: 4)
        let verifier = ChainVerifier(roots: .builtIn, cache: cache)
        let leaf = try CertificateOutline(authority.leaf)
        let intermediate = try CertificateOutline(authority.intermediate)
        #expect(throws: ProofFailure.forged(.unknownRoot)) { try verifier.verify(leaf, intermediate) }
        #expect(cache.count == 0)
        let known = ChainVerifier(roots: authority.roots, cache: cache)
        _ = try known.verify(leaf, intermediate)
        _ = try known.verify(leaf, intermediate)
        #expect(cache.count == 1)
    }

    @Test(
        "if a hundred tasks read the same receipt concurrently, all prove the receipt, and the cache stores one chain")
    func concurrency() async throws {
        let authority = try TestAuthority.receipts()
        let cache = VerifiedChainCache(capacity: 4)
        let verifier = ChainVerifier(roots: authority.roots, cache: cache)
        let reader = ProofReader(chains: verifier)
        let bytes = try TestReceipt().signed(by: authority)
        let leaf = try CertificateOutline(authority.leaf)
        let intermediate = try CertificateOutline(authority.intermediate)
        let key = ChainKey(leaf: leaf.bytes, intermediate: intermediate.bytes)
        let expected = try verifier.forgetful.verify(leaf, intermediate)
        #expect(cache.count == 0)
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { (reader.readReceipt(bytes).signature, cache.chain(for: key)) } }
            for await (signature, chain) in group {
                #expect(signature == .proven)
                #expect(chain?.names == expected.names && chain?.validity == expected.validity)
            }
        }
        #expect(cache.count == 1)
    }
}
