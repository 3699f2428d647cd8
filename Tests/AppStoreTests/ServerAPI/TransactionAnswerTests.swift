import AppStore
import Fulfillment
import NamesAndTimes
import Testing

@Suite("The API's answers about one transaction")
struct TransactionAnswerTests {
    private func parse(_ body: [UInt8], status: Int = 200, asked: StoreTransactionID = "1000") throws
        -> TransactionAnswer
    {
        TransactionAnswer.parse(
            .init(status: status, body: body), asked: asked, proofs: try SimulatedServerAPI.proofs.get())
    }

    private func body() throws -> [UInt8] {
        Array(#"{"signedTransactionInfo":"\#(try SimulatedServerAPI.signed("1000"))"}"#.utf8)
    }

    @Test("a damaged answer about a transaction gives the purchase that Apple signed, or trouble")
    func damage() throws {
        let original = try body()
        let genuine = try parse(original)
        guard case .answer(.genuine) = genuine else {
            Issue.record("the answer is not genuine")
            return
        }
        var damaged = 0
        for index in stride(from: 0, to: original.count, by: 7) {
            var bytes = original
            bytes[index] = bytes[index] == 0x41 ? 0x42 : 0x41
            let answer = try parse(bytes)
            if case .answer(.trouble) = answer { damaged += 1 } else { #expect(answer == genuine) }
        }
        #expect(damaged > 100)
        for length in stride(from: 0, to: original.count, by: 97) {
            #expect(try parse(Array(original[..<length])) == .answer(.trouble(of: .notJSON)))
        }
    }

    @Test("an answer about another transaction than the requested one counts as trouble")
    func otherTransaction() throws {
        #expect(try parse(body(), asked: "1001") == .answer(.trouble(of: .unproven)))
        #expect(try parse(body(), asked: "01000") == .answer(.trouble(of: .unproven)))
    }

    @Test(
        "the API's error codes for an impossible transaction id count as a refusal",
        arguments: [4_000_006, 4_000_048])
    func noPurchase(code: Int) throws {
        let body = Array(#"{"errorCode":\#(code),"errorMessage":"why"}"#.utf8)
        #expect(try parse(body, status: 400) == .answer(.refused(.invalidTransaction)))
    }

    @Test("the transaction answer parser trusts the HTTP status more than the body, and reads an error code from text")
    func statuses() throws {
        let notFound = Array(#"{"errorCode":"4040010"}"#.utf8)
        #expect(try parse(notFound, status: 404) == .notFound)
        #expect(try parse(notFound, status: 401) == .answer(.blocked(.serverAPI)))
        #expect(try parse(notFound, status: 429) == .answer(.trouble(of: .rateLimited)))
        #expect(try parse(notFound, status: 503) == .answer(.trouble(of: .serverError)))
        #expect(try parse(notFound, status: 200) == .answer(.trouble(of: .incomplete)))
        #expect(try parse(body(), status: 404) == .answer(.trouble(of: .status)))
        for body in ["", "null", "4040010", "{", #"{"errorCode":{}}"#] {
            guard case .answer(.trouble) = try parse(Array(body.utf8), status: 404) else {
                Issue.record("\(body) says something")
                continue
            }
        }
    }
}
