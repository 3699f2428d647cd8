import Crypto
import Encodings
import Foundation
import Fulfillment

@testable import AppleProofs

/// A StoreKit 2 JWS that a test makes.
struct TestTransaction {
    /// The claims, with each value as raw JSON.
    var claims = [
        "transactionId": "\"470000000000001\"", "originalTransactionId": "\"470000000000001\"",
        "bundleId": "\"com.example.castle\"", "productId": "\"com.example.castle.gems.100\"",
        "purchaseDate": "1714550400000", "originalPurchaseDate": "1714550400000", "quantity": "2",
        "type": "\"Consumable\"", "appAccountToken": "\"7E3FB204-2AB2-4F36-A6E2-2F9F1B1D0A5C\"",
        "inAppOwnershipType": "\"PURCHASED\"", "signedDate": "1714550405000", "environment": "\"Production\"",
        "transactionReason": "\"PURCHASE\"", "storefront": "\"USA\"", "storefrontId": "\"143441\"",
        "price": "1990", "currency": "\"USD\"", "appTransactionId": "\"704000000000001\"",
    ]
    var algorithm = "\"ES256\""
    var extraHeader = ""

    func signed(by authority: TestAuthority, chain: [[UInt8]]? = nil) throws -> String {
        let certificates = chain ?? [authority.leaf, authority.intermediate, authority.root]
        let header =
            "{\"alg\":\(algorithm),\"x5c\":[\(certificates.map { "\"\(Base64.encode($0))\"" }.joined(separator: ","))]\(extraHeader)}"
        return try Self.token(header: header, payload: payload)
    }

    var payload: String {
        "{" + claims.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    static func token(header: String, payload: String) throws -> String {
        let signed = "\(url(Array(header.utf8))).\(url(Array(payload.utf8)))"
        let signature = try TestKeys.transactionKey.signature(for: Data(signed.utf8)).rawRepresentation
        return "\(signed).\(url(Array(signature)))"
    }

    static func url(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

extension SignedTransactionReading {
    var transaction: SignedTransaction? {
        if case .read(let transaction) = self { transaction } else { nil }
    }

    var signature: LocalSignature? { transaction?.signature }
}
