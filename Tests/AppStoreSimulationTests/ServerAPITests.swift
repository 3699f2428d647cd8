import Crypto
import Foundation
import Testing

@testable import AppStoreSimulation

@Suite("The simulated App Store Server API")
struct ServerAPITests {
    private static let now: Int64 = 1_795_167_000_000
    private static let seconds = now / 1000

    private struct Claims: Encodable {
        var iss = "issuer"
        var iat = ServerAPITests.seconds
        var exp = ServerAPITests.seconds + 1200
        var aud = "appstoreconnect-v1"
        var bid = "com.example.game"
    }

    private static func url(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func bearer(
        _ claims: Claims, key: P256.Signing.PrivateKey, header: String = #"{"alg":"ES256","kid":"K","typ":"JWT"}"#
    ) throws -> String {
        let signed = "\(url(Data(header.utf8))).\(url(try JSONEncoder().encode(claims)))"
        return "Bearer \(signed).\(url(try key.signature(for: Data(signed.utf8)).rawRepresentation))"
    }

    @Test(
        "the simulated API accepts a token with right claims and the app's signature, and refuses a token with any flaw"
    )
    func tokens() throws {
        let key = P256.Signing.PrivateKey()
        let known = [
            "com.example.game": try SimulatedServerAPIKey(
                pem: key.publicKey.pemRepresentation, keyID: "K", issuerID: "issuer")
        ]
        func passes(_ authorization: String?) -> Bool {
            SimulatedToken(authorization: authorization, keys: known, now: Self.now) != nil
        }
        func passes(_ change: (inout Claims) -> Void) throws -> Bool {
            var claims = Claims()
            change(&claims)
            return passes(try Self.bearer(claims, key: key))
        }
        #expect(try passes { _ in })
        #expect(try !passes { $0.iss = "other" })
        #expect(try !passes { $0.aud = "appstoreconnect-v2" })
        #expect(try !passes { $0.bid = "com.example.other" })
        #expect(try !passes { $0.exp = Self.seconds })
        #expect(try !passes { $0.iat = Self.seconds + 120 })
        #expect(try !passes { $0.exp = $0.iat + 3601 })
        #expect(try !passes(Self.bearer(Claims(), key: P256.Signing.PrivateKey())))
        #expect(try !passes(Self.bearer(Claims(), key: key, header: #"{"alg":"none","kid":"K"}"#)))
        #expect(try !passes(Self.bearer(Claims(), key: key, header: #"{"alg":"ES256","kid":"L"}"#)))
        #expect(try !passes(String(Self.bearer(Claims(), key: key).dropFirst("Bearer ".count))))
        for junk in [nil, "", "Bearer", "Bearer a.b.c", "Bearer ..", "Basic x"] { #expect(!passes(junk)) }
    }

    @Test("the simulation reads scripted receipts and transactions from JSON, and encodes them unchanged")
    func arrangements() throws {
        let text = """
            [{"receipt_data":"AAAA","behaviour":["html"]},
             {"transaction_id":"7","signed_transaction_info":"a.b.c"},
             {"transaction_id":"8","behaviour":[{"answer":"status","status":4040010,"times":2},"genuine"]}]
            """
        let read = try JSONDecoder().decode([SimulatedArrangement].self, from: Data(text.utf8))
        let expected: [SimulatedArrangement] = [
            .receipt(SimulatedRegistration(receiptData: "AAAA", behaviour: [SimulatedStep(.html)])),
            .transaction(SimulatedTransaction(transactionID: "7", signedTransactionInfo: "a.b.c")),
            .transaction(
                SimulatedTransaction(transactionID: "8", behaviour: [.status(4_040_010).times(2), .genuine])),
        ]
        #expect(read == expected)
        #expect(try JSONDecoder().decode([SimulatedArrangement].self, from: JSONEncoder().encode(read)) == expected)
    }
}
