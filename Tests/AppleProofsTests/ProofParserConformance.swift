import Encodings
import Fulfillment
import TestSupport
import Testing

@testable import AppleProofs

@Suite("ProofParser conformance of ProofReader and of the scripted double")
struct ProofParserConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case proofReader
        case scripted
    }

    /// A proof of each kind.
    struct Proofs<Proof: Sendable>: Sendable {
        let proven: Proof
        let forged: Proof
        let notProvable: Proof
        let malformed: [Proof]
    }

    struct Subject: Sendable {
        let parser: any ProofParser
        let receipts: Proofs<[UInt8]>
        let transactions: Proofs<String>
    }

    private func subject(_ implementation: Implementation) throws -> Subject {
        let (receipts, doubtfulReceipts) = try (
            TestAuthority.receipts(), TestAuthority.receipts(.init(criticalExtension: true))
        )
        let (transactions, doubtfulTransactions) = try (
            TestAuthority.transactions(), TestAuthority.transactions(.init(criticalExtension: true))
        )
        let roots = [receipts, doubtfulReceipts, transactions, doubtfulTransactions].map(\.root)
        let reader = ProofReader(roots: AppleRoots(roots.compactMap { TrustedCertificate($0) }))
        let subject = Subject(
            parser: reader,
            receipts: Proofs(
                proven: try TestReceipt().signed(by: receipts),
                forged: try TestReceipt().signed(by: receipts, certificates: []),
                notProvable: try TestReceipt().signed(by: doubtfulReceipts),
                malformed: [[], [0x30, 0x00], Array("com.urus.iap.96657290".utf8)]),
            transactions: Proofs(
                proven: try TestTransaction().signed(by: transactions),
                forged: try TestTransaction().signed(by: transactions, chain: []),
                notProvable: try TestTransaction().signed(by: doubtfulTransactions),
                malformed: ["", "a.b.c", "com.urus.iap.96657290"]))
        switch implementation {
        case .proofReader: return subject
        case .scripted:
            return Subject(parser: scripted(subject), receipts: subject.receipts, transactions: subject.transactions)
        }
    }

    /// Returns a double that gives the readings of the real parser.
    private func scripted(_ read: Subject) -> ScriptedProofs {
        let scripted = ScriptedProofs()
        let receipts = read.receipts
        for bytes in [receipts.proven, receipts.forged, receipts.notProvable] + receipts.malformed {
            scripted.read(.receipt(Base64.encode(bytes)), as: read.parser.parse(receipt: bytes))
        }
        let transactions = read.transactions
        for text in [transactions.proven, transactions.forged, transactions.notProvable] + transactions.malformed {
            scripted.read(.signedTransaction(text), as: read.parser.parse(signedTransaction: text))
        }
        return scripted
    }

    private func isRead(_ reading: ProofReading, _ signature: ParsedProof.Signature) -> Bool {
        if case .read(let content, signature, _) = reading { content?.bundleID != nil } else { false }
    }

    private func isUnreadable(_ reading: ProofReading) -> Bool {
        if case .unreadable = reading { true } else { false }
    }

    @Test(
        "the proof parser reads a proof's bundle id, and classifies the proof as proven, forged or not provable",
        arguments: Implementation.allCases)
    func worth(implementation: Implementation) throws {
        let subject = try subject(implementation)
        let (parser, receipts, transactions) = (subject.parser, subject.receipts, subject.transactions)
        #expect(isRead(parser.parse(receipt: receipts.proven), .proven))
        #expect(isRead(parser.parse(receipt: receipts.forged), .forged))
        #expect(isRead(parser.parse(receipt: receipts.notProvable), .notProvable))
        #expect(isRead(parser.parse(signedTransaction: transactions.proven), .proven))
        #expect(isRead(parser.parse(signedTransaction: transactions.forged), .forged))
        #expect(isRead(parser.parse(signedTransaction: transactions.notProvable), .notProvable))
    }

    @Test("the proof parser reports bytes or text that are no proof as unreadable", arguments: Implementation.allCases)
    func malformed(implementation: Implementation) throws {
        let subject = try subject(implementation)
        for bytes in subject.receipts.malformed { #expect(isUnreadable(subject.parser.parse(receipt: bytes))) }
        for text in subject.transactions.malformed {
            #expect(isUnreadable(subject.parser.parse(signedTransaction: text)))
        }
    }

    @Test(
        "the proof parser asks its caller once whether to check a signature; an unchecked receipt is not provable",
        arguments: Implementation.allCases)
    func provingWhere(implementation: Implementation) throws {
        let subject = try subject(implementation)
        let receipts = subject.receipts
        for bytes in [receipts.proven, receipts.forged, receipts.notProvable] {
            let whole = subject.parser.parse(receipt: bytes)
            guard case .read(let content?, _, _) = whole else {
                Issue.record("it is not read")
                continue
            }
            for matters in [false, true] {
                var asked: [ProofContent] = []
                let reading = subject.parser.parse(receipt: bytes) { told in
                    asked.append(told)
                    return matters
                }
                #expect(asked == [content])
                #expect(reading == (matters ? whole : .read(content, .notProvable)))
            }
        }
        for bytes in receipts.malformed {
            let reading = subject.parser.parse(receipt: bytes) { _ in
                Issue.record("there is no signature to ask about")
                return true
            }
            #expect(isUnreadable(reading))
        }
    }

    @Test(
        "the proof parser gives the same reading for the same proof, even if many tasks parse proofs concurrently",
        arguments: Implementation.allCases)
    func pure(implementation: Implementation) async throws {
        let subject = try subject(implementation)
        let (parser, receipts, transactions) = (subject.parser, subject.receipts, subject.transactions)
        let readReceipts: [@Sendable () -> ProofReading] = [receipts.proven, receipts.forged, receipts.notProvable].map
        {
            bytes in { parser.parse(receipt: bytes) }
        }
        let readTransactions: [@Sendable () -> ProofReading] = [
            transactions.proven, transactions.forged, transactions.notProvable,
        ].map { text in { parser.parse(signedTransaction: text) } }
        let reads = readReceipts + readTransactions
        let first = reads.map { $0() }
        await withTaskGroup(of: Bool.self) { group in
            for round in 0..<10 {
                for index in reads.indices {
                    let place = (index + round) % reads.count
                    group.addTask { reads[place]() == first[place] }
                }
            }
            for await isSame in group { #expect(isSame) }
        }
    }
}
