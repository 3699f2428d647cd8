import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("App Store Server Notifications")
struct NotificationTests {
    /// A notification's payload and its `data`, with each member as raw JSON.
    private struct Body {
        var members = [
            "notificationType": "\"REFUND\"", "notificationUUID": "\"5f0c9a10-0000-4000-8000-000000000001\"",
            "version": "\"2.0\"", "signedDate": "1714550500000",
        ]
        var data = [
            "bundleId": "\"com.example.castle\"", "appAppleId": "1450000001", "environment": "\"Production\"",
        ]

        func payload(_ transaction: String?) -> String {
            var data = data
            if let transaction { data["signedTransactionInfo"] = "\"\(transaction)\"" }
            var members = members
            members["data"] = object(data)
            return object(members)
        }

        private func object(_ members: [String: String]) -> String {
            "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        }
    }

    private let authority: TestAuthority
    private let reader: ProofReader

    init() throws {
        authority = try TestAuthority.transactions()
        reader = authority.reader
    }

    private func transaction(_ change: (inout TestTransaction) -> Void = { _ in }) throws -> String {
        var transaction = TestTransaction()
        transaction.claims["revocationDate"] = "1714550450000"
        transaction.claims["revocationPercentage"] = "33333"
        change(&transaction)
        return try transaction.signed(by: authority)
    }

    private func signed(_ payload: String, by authority: TestAuthority? = nil, header: String? = nil) throws -> [UInt8]
    {
        let authority = authority ?? self.authority
        let chain = [authority.leaf, authority.intermediate, authority.root]
            .map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let token = try TestTransaction.token(
            header: header ?? "{\"alg\":\"ES256\",\"x5c\":[\(chain)]}", payload: payload)
        return Array("{\"signedPayload\":\"\(token)\"}".utf8)
    }

    private func unusable(_ body: [UInt8]) -> String? {
        if case .unusable(let why) = reader.parse(notification: body) { why } else { nil }
    }

    @Test("the notification parser reads a REFUND notification that Apple signed, and the notification's transaction")
    func refund() throws {
        let body = try signed(Body().payload(transaction()))
        guard case .read(let notification) = reader.parse(notification: body) else {
            Issue.record("not read: \(unusable(body) ?? "")")
            return
        }
        #expect(notification.id == "5f0c9a10-0000-4000-8000-000000000001" && notification.type == "REFUND")
        #expect(notification.signedAt == Timestamp(milliseconds: 1_714_550_500_000))
        #expect(notification.bundleID == "com.example.castle" && notification.appAppleID == 1_450_000_001)
        guard case .told(let told) = notification.transaction else { return #expect(Bool(false)) }
        #expect(told.purchase.transactionID == "470000000000001" && told.kind == .consumable)
        #expect(told.purchase.cancelledAt == Timestamp(milliseconds: 1_714_550_450_000))
        #expect(told.refundedMilliPercent == 33_333 && told.environment == .production)
    }

    @Test(
        "if a notification has no data, the parser reads the app from summary, appData or externalPurchaseToken",
        arguments: ["summary", "appData", "externalPurchaseToken"])
    func appWithoutData(member: String) throws {
        let payload = """
            {"notificationType":"RENEWAL_EXTENSION","notificationUUID":"5f0c9a10-0000-4000-8000-000000000002",\
            "signedDate":1714550500000,"\(member)":{"bundleId":"com.example.castle","appAppleId":1450000001,\
            "environment":"Sandbox"}}
            """
        guard case .read(let notification) = reader.parse(notification: try signed(payload)) else {
            Issue.record("not read")
            return
        }
        #expect(notification.bundleID == "com.example.castle" && notification.appAppleID == 1_450_000_001)
        #expect(notification.environment == .sandbox)
    }

    @Test("the notification parser finds no transaction, app or environment in a TEST notification with empty data")
    func withoutTransaction() throws {
        var body = Body()
        body.members["notificationType"] = "\"TEST\""
        body.data = [:]
        guard case .read(let test) = reader.parse(notification: try signed(body.payload(nil))) else {
            Issue.record("not read")
            return
        }
        #expect(test.type == "TEST" && test.transaction == .none && test.bundleID == nil && test.environment == nil)
    }

    @Test("the notification parser refuses a body that is no notification or not signed by Apple, and gives the reason")
    func unusableBodies() throws {
        #expect(unusable(Array("x".utf8)) == "not a JSON object")
        #expect(unusable(Array("[]".utf8)) == "not a JSON object")
        #expect(unusable(Array(#"{"notification_type":"REFUND"}"#.utf8)) == "it has no signedPayload")
        #expect(unusable(Array(#"{"signedPayload":7}"#.utf8)) == "it has no signedPayload")
        #expect(unusable(Array(#"{"signedPayload":"a.b"}"#.utf8)) == "not three segments")
        #expect(unusable([UInt8](repeating: 0x20, count: 1_048_577)) == "longer than 1 MiB")
        let payload = Body().payload(try transaction())
        let stranger = try TestAuthority.transactions(.init(leafMarker: false))
        #expect(unusable(try signed(payload, by: stranger)) == Forgery.leafMarker.rawValue)
        #expect(unusable(try signed(payload, header: #"{"alg":"none"}"#)) == Forgery.algorithm.rawValue)
        #expect(unusable(try signed(payload, header: #"{"alg":"ES256"}"#)) == Forgery.chainMissing.rawValue)
        var undated = Body()
        undated.members["signedDate"] = nil
        #expect(unusable(try signed(undated.payload(nil))) == "it has no signedDate")
        for name in ["notificationUUID", "notificationType"] {
            var other = Body()
            other.members[name] = nil
            #expect(unusable(try signed(other.payload(nil))) == "Apple signed it, but it is no notification")
        }
        // The body has a genuine transaction in place of a notification.
        let bare = Array("{\"signedPayload\":\"\(try transaction())\"}".utf8)
        #expect(unusable(bare) == "Apple signed it, but it is no notification")
    }

    @Test(
        "a notification's transaction is unusable if it is no transaction, lacks Apple's signature or comes from Xcode")
    func innerSignature() throws {
        func inner(_ jws: String) throws -> StoreNotification.Transaction? {
            guard case .read(let notification) = reader.parse(notification: try signed(Body().payload(jws))) else {
                return nil
            }
            return notification.transaction
        }
        let stranger = try TestAuthority.transactions(.init(leafMarker: false))
        #expect(try inner(TestTransaction().signed(by: stranger)) == .unusable(Forgery.leafMarker.rawValue))
        #expect(try inner("x") == .unusable("not three segments"))
        #expect(
            try inner(transaction { $0.claims["environment"] = "\"Xcode\"" })
                == .unusable(Forgery.localEnvironment.rawValue))
        #expect(try inner(transaction { $0.claims["transactionId"] = nil }) == .unusable("not a transaction"))
    }
}
