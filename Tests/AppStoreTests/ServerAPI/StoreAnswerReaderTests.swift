import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import AppStore

@Suite("The reading of the App Store Server API's answers")
struct StoreAnswerReaderTests {
    private static func reader() throws -> StoreAnswerReader {
        StoreAnswerReader(
            parser: try SimulatedServerAPI.proofs.get(), bundleID: SimulatedServerAPI.bundle,
            environment: .production)
    }

    private func statuses(_ items: String..., asked: StoreTransactionID = "1000") throws
        -> StoreAnswerReader.Reading<[SubscriptionStatus]>
    {
        let body = SignedByApple.statuses(items.joined(separator: ","))
        return try Self.reader().statuses(Array(body.utf8), asked: asked)
    }

    @Test("the API answer reader leaves out an unproven subscription, but throws if it may be the requested one")
    func leftOut() throws {
        let own = try SignedByApple.status(1, of: "1000")
        let forged = try SignedByApple.status(1, of: "2000", renewal: "a.b.c")
        let unknown = try SignedByApple.status(9, of: "3000")
        let told = try statuses(own, forged, unknown)
        #expect(told.value.map(\.transaction.purchase.originalTransactionID) == ["1000"] && told.leftOut == 2)
        #expect(throws: StoreAnswerReader.Fault.unproven) { try statuses(own, forged, asked: "2000") }
        #expect(throws: StoreAnswerReader.Fault.incomplete) { try statuses(own, unknown, asked: "3000") }
        // The forged subscription may be the requested one, because the answer has no proven entry for the id.
        #expect(throws: StoreAnswerReader.Fault.unproven) { try statuses(own, forged, asked: "20001") }
        let nameless = forged.replacing(#""originalTransactionId":"2000","#, with: "")
        #expect(throws: StoreAnswerReader.Fault.unproven) { try statuses(own, nameless) }
    }

    @Test("the API answer reader throws if renewal info or a transaction is of another subscription or environment")
    func mixed() throws {
        for renewal in [
            try SignedByApple.renewal(of: "2000"), try SignedByApple.renewal(of: "1000", environment: "Sandbox"),
        ] {
            #expect(throws: StoreAnswerReader.Fault.unproven) {
                try statuses(try SignedByApple.status(1, of: "1000", renewal: renewal))
            }
        }
        let transaction = try SignedByApple.transaction("1", original: "2000")
        #expect(throws: StoreAnswerReader.Fault.unproven) {
            try statuses(try SignedByApple.status(1, of: "1000", transaction: transaction))
        }
    }

    @Test("the API answer reader accepts an empty list of subscriptions")
    func empty() throws {
        #expect(try Self.reader().statuses(Array(#"{"data":[]}"#.utf8), asked: "1").value.isEmpty)
    }

    @Test("the API answer reader refuses a history page with an unproven transaction, or with too many transactions")
    func unprovenPage() throws {
        let signed = try SignedByApple.transaction("1")
        func page(_ items: String) throws -> TransactionHistoryPage {
            try Self.reader().history(
                Array(#"{"revision":"r","hasMore":false,"signedTransactions":[\#(items)]}"#.utf8), page: nil
            ).value
        }
        #expect(try page(#""\#(signed)""#).transactions.count == 1)
        #expect(throws: StoreAnswerReader.Fault.unproven) { try page(#""\#(signed)","a.b.c""#) }
        #expect(throws: StoreAnswerReader.Fault.incomplete) { try page(#""\#(signed)",7"#) }
        let many = Array(repeating: #""\#(signed)""#, count: StoreAnswerReader.maximumPageItems + 1)
        #expect(throws: StoreAnswerReader.Fault.incomplete) { try page(many.joined(separator: ",")) }
    }

    @Test("the API answer reader refuses a history page whose hasMore or next revision is missing, malformed or old")
    func paging() throws {
        let reader = try Self.reader()
        for rest in [
            #""hasMore":true"#, #""hasMore":true,"revision":"""#, #""revision":"r2""#, #""hasMore":1,"revision":"r2""#,
            #""hasMore":true,"revision":"r1""#, #""hasMore":true,"revision":7"#,
            #""hasMore":true,"revision":"\#(String(repeating: "x", count: 5000))""#,
        ] {
            #expect(throws: StoreAnswerReader.Fault.incomplete) {
                _ = try reader.history(Array("{\"signedTransactions\":[],\(rest)}".utf8), page: "r1")
            }
        }
    }

    @Test(
        "the API answer reader returns notifications without proving them, and leaves out only items without a payload")
    func notifications() throws {
        let body = #"{"hasMore":false,"notificationHistory":[{"signedPayload":"a.b.c"},{},{"signedPayload":"d\"e"}]}"#
        let reading = try Self.reader().notifications(Array(body.utf8))
        #expect(
            reading.value.bodies
                == [#"{"signedPayload":"a.b.c"}"#, #"{"signedPayload":"d\"e"}"#].map { Array($0.utf8) })
        #expect(reading.leftOut == 1)
    }

    @Test("the API answer reader refuses an answer that is longer than the limit")
    func tooLong() throws {
        let body = Array(repeating: UInt8(ascii: " "), count: StoreAnswerReader.maximumBytes) + Array("{}".utf8)
        #expect(throws: StoreAnswerReader.Fault.incomplete) { try Self.reader().statuses(body, asked: "1") }
    }

    @Test(
        "if an API answer is damaged, the reader does not trap, and returns only transactions that Apple signed",
        arguments: 1...4)
    func mutations(seed: UInt64) throws {
        let reader = try Self.reader()
        let signed = try SignedByApple.transaction("1001", original: "1000")
        let statuses = SignedByApple.statuses(try SignedByApple.status(1, of: "1000", transaction: signed))
        let history = #"{"revision":"r","hasMore":true,"signedTransactions":["\#(signed)","\#(signed)"]}"#
        let whole = try reader.statuses(Array(statuses.utf8), asked: "1000").value
        let punctuation = Array("{}[]\",: \n\\0".utf8)
        var dice = SeededRandom(seed: seed)
        for _ in 0..<400 {
            var bytes = Array((Bool.random(using: &dice) ? statuses : history).utf8)
            for _ in 0..<Int.random(in: 1...4, using: &dice) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &dice)
                let end = min(bytes.count, index + Int.random(in: 1...64, using: &dice))
                switch Int.random(in: 0..<5, using: &dice) {
                case 0: bytes[index] = punctuation.randomElement(using: &dice) ?? 0
                case 1: bytes.removeSubrange(index..<end)
                case 2: bytes.insert(contentsOf: bytes[index..<end], at: index)
                case 3: bytes[index] = UInt8.random(in: 0...255, using: &dice)
                default: bytes.removeSubrange(index...)
                }
            }
            for status in (try? reader.statuses(bytes, asked: "1000"))?.value ?? [] {
                #expect(
                    status.transaction == whole[0].transaction && status.renewal == whole[0].renewal, "seed \(seed)")
            }
            for told in (try? reader.history(bytes, page: nil))?.value.transactions ?? [] {
                #expect(told == whole[0].transaction, "seed \(seed)")
            }
            _ = try? reader.notifications(bytes)
            _ = try? reader.transaction(bytes, asked: "1001")
            _ = ServerAPIResponse(status: 404, body: bytes)
        }
    }
}
