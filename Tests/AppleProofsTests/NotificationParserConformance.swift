import Encodings
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import AppleProofs

@Suite("NotificationParser conformance of ProofReader and of the scripted double")
struct NotificationParserConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case proofReader
        case scripted
    }

    struct Subject: Sendable {
        let parser: any NotificationParser
        let proven: [UInt8]
        let forged: [UInt8]
        let notProvable: [UInt8]
        let malformed: [[UInt8]]

        var all: [[UInt8]] { [proven, forged, notProvable] + malformed }
    }

    private static let id = "5f0c9a10-0000-4000-8000-000000000001"
    /// Content of the bodies. No reason may repeat it, because anyone can post a body.
    private static let content = "com.example.castle"

    private func subject(_ implementation: Implementation) throws -> Subject {
        let (authority, doubtful) = try (
            TestAuthority.transactions(), TestAuthority.transactions(.init(criticalExtension: true))
        )
        let roots = [authority, doubtful].map(\.root)
        let parser = ProofReader(roots: AppleRoots(roots.compactMap { TrustedCertificate($0) }))
        let subject = Subject(
            parser: parser, proven: try body([authority.leaf, authority.intermediate, authority.root]),
            forged: try body([]), notProvable: try body([doubtful.leaf, doubtful.intermediate, doubtful.root]),
            malformed: [
                [], Array("[]".utf8), Array(#"{"bundleId":"\#(Self.content)"}"#.utf8),
                Array(#"{"signedPayload":"\#(Self.content)"}"#.utf8),
            ])
        switch implementation {
        case .proofReader: return subject
        case .scripted:
            // The double gives the readings of the real parser.
            let scripted = ScriptedNotifications()
            for body in subject.all { scripted.read(body, as: parser.parse(notification: body)) }
            return Subject(
                parser: scripted, proven: subject.proven, forged: subject.forged, notProvable: subject.notProvable,
                malformed: subject.malformed)
        }
    }

    private func body(_ chain: [[UInt8]]) throws -> [UInt8] {
        let certificates = chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let token = try TestTransaction.token(
            header: "{\"alg\":\"ES256\",\"x5c\":[\(certificates)]}",
            payload: """
                {"notificationType":"TEST","notificationUUID":"\(Self.id)","version":"2.0","signedDate":1714550500000,\
                "data":{"bundleId":"\(Self.content)","environment":"Production"}}
                """)
        return Array("{\"signedPayload\":\"\(token)\"}".utf8)
    }

    @Test("the notification parser reads a notification that Apple signed", arguments: Implementation.allCases)
    func read(implementation: Implementation) throws {
        let subject = try subject(implementation)
        guard case .read(let notification) = subject.parser.parse(notification: subject.proven) else {
            Issue.record("it is not read")
            return
        }
        #expect(notification.id.text == Self.id && notification.type == "TEST")
        #expect(notification.bundleID?.text == Self.content && notification.environment == .production)
    }

    @Test(
        "a malformed or forged notification is unusable, a doubtful one not provable, and the reason quotes no content",
        arguments: Implementation.allCases)
    func unusable(implementation: Implementation) throws {
        let subject = try subject(implementation)
        for body in subject.malformed + [subject.forged] {
            guard case .unusable(let why) = subject.parser.parse(notification: body) else {
                Issue.record("it is read")
                continue
            }
            #expect(!why.isEmpty && !why.contains(Self.content))
        }
        guard case .notProvable(let why) = subject.parser.parse(notification: subject.notProvable) else {
            Issue.record("it can be proven")
            return
        }
        #expect(!why.isEmpty && !why.contains(Self.content))
    }

    @Test(
        "the notification parser calls a JSON object that is no notification unusable, and gives a reason",
        arguments: Implementation.allCases)
    func unknown(implementation: Implementation) throws {
        let subject = try subject(implementation)
        guard case .unusable(let why) = subject.parser.parse(notification: Array("{}".utf8)) else {
            Issue.record("it is read")
            return
        }
        #expect(!why.isEmpty)
    }

    @Test(
        "the notification parser gives the same reading for the same body, even if many tasks parse concurrently",
        arguments: Implementation.allCases)
    func pure(implementation: Implementation) async throws {
        let subject = try subject(implementation)
        let first = subject.all.map { subject.parser.parse(notification: $0) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                for (body, reading) in zip(subject.all, first) {
                    group.addTask { subject.parser.parse(notification: body) == reading }
                }
            }
            for await isSame in group { #expect(isSame) }
        }
    }
}
