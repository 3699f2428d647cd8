import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("Signed transactions with unreadable claims")
struct UnreadableTransactionTests {
    private let authority: TestAuthority

    init() throws {
        authority = try TestAuthority.transactions()
    }

    private func token(_ name: String, _ value: String) throws -> String {
        var made = TestTransaction()
        made.claims[name] = value
        return try made.signed(by: authority)
    }

    private func content(_ name: String, _ value: String) throws -> ProofContent? {
        guard
            case .read(let content, .proven, _) = authority.reader.parse(signedTransaction: try token(name, value))
        else { return nil }
        return content
    }

    @Test(
        "the proof parser lists a transaction's unreadable claim, and still reads the transaction and product id",
        arguments: [
            ("revocationDate", "\"1714550500000\""), ("revocationDate", "1.5"), ("revocationDate", "{}"),
            ("expiresDate", "\"soon\""), ("purchaseDate", "1e999"), ("purchaseDate", "\"1714550400000\""),
            ("quantity", "0"), ("quantity", "-3"), ("quantity", "1.5"), ("quantity", "\"3\""), ("quantity", "1e30"),
            ("quantity", "2147483648"), ("quantity", "1e400"), ("isUpgraded", "\"true\""), ("isUpgraded", "1"),
            ("type", "1"), ("inAppOwnershipType", "false"), ("appAccountToken", "\"player-1\""),
            ("appAccountToken", "7"), ("revocationPercentage", "\"50000\""), ("revocationPercentage", "1e12"),
            ("expiresDate", "-9223372036854775808"), ("previousOriginalTransactionId", "\"0460000000000009\""),
            ("environment", "\"Elsewhere\""), ("environment", "\"production\""), ("environment", "7"),
            ("signedDate", "\"1714550405000\""), ("signedDate", "true"), ("signedDate", "1714550405000.5"),
        ])
    func facts(name: String, value: String) throws {
        let content = try #require(try content(name, value))
        let purchase = try #require(content.asReceipt?.purchases.first)
        #expect(purchase.unreadable == [name])
        #expect(purchase.transactionID == "470000000000001" && purchase.productID == "com.example.castle.gems.100")
        #expect(content.asReceipt?.isReadable == false)
    }

    @Test(
        "a missing or null purchaseDate or environment of a signed transaction counts as unreadable",
        arguments: ["purchaseDate", "environment"], [nil, "null"])
    func leftOut(name: String, value: String?) throws {
        var made = TestTransaction()
        made.claims[name] = value
        let reading = authority.reader.parse(signedTransaction: try made.signed(by: authority))
        guard case .read(let content, .proven, _) = reading else { return #expect(Bool(false), "\(reading)") }
        #expect(content?.purchases.first?.unreadable == [name])
    }

    @Test(
        "a JWS with an unreadable transaction, original, product or bundle id is unreadable if genuine, else forged",
        arguments: [
            ("transactionId", "\"0470000000000001\""), ("transactionId", "\"\""), ("transactionId", "470000000000001"),
            ("transactionId", "\"999999999999999999999\""), ("transactionId", "\"47-1\""), ("transactionId", "\"0\""),
            ("originalTransactionId", "\"0470000000000001\""), ("originalTransactionId", "470000000000001"),
            ("productId", "\"a\\u0000\""), ("productId", "7"), ("bundleId", "\"\""),
        ])
    func names(name: String, value: String) throws {
        let token = try token(name, value)
        #expect(authority.reader.readSignedTransaction(token) == .nameless(name))
        #expect(authority.reader.parse(signedTransaction: token) == .unreadable(.namelessPurchase([name])))
        #expect(authority.reader.parse(transactionInfo: token) == .unreadable("its \(name) cannot be read"))
        let forged = try TestAuthority.transactions(.init(leafMarker: false))
        var made = TestTransaction()
        made.claims[name] = value
        let reading = forged.reader.readSignedTransaction(try made.signed(by: forged))
        #expect(reading == .unreadable(.forged(.leafMarker)))
    }

    @Test(
        "a signing date outside the certificates' validity makes a transaction forged",
        arguments: [
            "-9223372036854775808", "1e400", "-1e400", "0", "1", "253402300800000", "9223372036854775807",
            "4102444800000", "1577836799999",
        ])
    func signingTimes(value: String) throws {
        #expect(
            authority.reader.readSignedTransaction(try token("signedDate", value)).signature
                == .forged(.notValidThen))
    }

    @Test("a transaction with a broken chain is forged, even if its signing date cannot be read")
    func chains() throws {
        var made = TestTransaction()
        made.claims["signedDate"] = "\"now\""
        let other = try TestAuthority.transactions(.init(leafIsSignedByRoot: true))
        #expect(
            other.reader.readSignedTransaction(try made.signed(by: other)).signature == .forged(.brokenChain))
    }

    @Test("an unreadable refund share leaves a notification's transaction readable; an unreadable environment does not")
    func notified() throws {
        let told = try #require(
            authority.reader.parse(transactionInfo: try token("revocationPercentage", "\"50000\"")).proven)
        #expect(told.purchase.unreadable == ["revocationPercentage"] && told.refundedMilliPercent == nil)
        #expect(
            authority.reader.parse(transactionInfo: try token("environment", "\"Elsewhere\""))
                == .unreadable("its environment cannot be read"))
    }
}
