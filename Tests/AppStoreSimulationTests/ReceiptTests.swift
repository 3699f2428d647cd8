import AppStoreSimulation
import Foundation
import Testing

@Suite("Simulated receipts")
struct ReceiptTests {
    @Test("Encoding and parsing leave a simulated app receipt of 300 purchases unchanged")
    func roundTrip() throws {
        let purchases = (0..<300).map { index in
            SimulatedPurchase(
                transactionID: "9000000000\(index)", originalTransactionID: "8000000000\(index)",
                productID: "product.\(index)", quantity: index + 1,
                kind: SimulatedPurchase.Kind.allCases[index % 4],
                purchaseDateMilliseconds: 1_687_913_752_000 + Int64(index) * 1000,
                originalPurchaseDateMilliseconds: 1_600_000_000_000,
                expiresDateMilliseconds: index % 4 == 3 ? 1_700_000_000_000 : nil,
                cancellationDateMilliseconds: index % 7 == 0 ? 1_690_000_000_000 : nil,
                isTrial: index % 5 == 0,
                ownershipType: index % 2 == 0 ? .purchased : .familyShared,
                appAccountToken: index % 3 == 0 ? "0F0E0D0C-0000-0000-0000-000000000000" : nil,
                webOrderLineItemID: index % 4 == 3 ? 230_000_012_345_678 : nil)
        }
        let original = SimulatedReceipt(
            bundleID: "com.example.game", appAppleID: 1_149_703_708, creationDateMilliseconds: 1_687_913_752_000,
            applicationVersion: "67.0", purchases: purchases,
            behaviour: [.status(21005).times(2), .delay(milliseconds: 5, then: .genuine)])
        #expect(SimulatedReceipt(parsing: original.base64Encoded()) == original)
    }

    @Test("In a simulated sandbox receipt the simulation's parser finds the sandbox as environment, and app id 0")
    func sandbox() throws {
        var original = receipt(.sandbox)
        original.appAppleID = 5
        let parsed = try #require(SimulatedReceipt(parsing: original.base64Encoded()))
        #expect(parsed.environment == .sandbox)
        #expect(parsed.appAppleID == 0)
    }

    @Test(
        "The signer of a simulated receipt gets the receipt's payload, and the receipt contains the signer's signature")
    func signer() {
        let original = receipt()
        var signed: [UInt8] = []
        let der = original.derEncoded { payload in
            signed = payload
            return SimulatedSignature(signature: [1, 2, 3, 4, 5, 6, 7, 8, 9], certificates: [[0x30, 0x01, 0x05]])
        }
        #expect(signed == original.payload())
        #expect(signed.first == 0x31)
        #expect(Array(der.suffix(11)) == [0x04, 0x09, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    }

    @Test(
        "Encoding and parsing leave a simulated iOS 6 receipt unchanged",
        arguments: SimulatedTransactionReceipt.Spacing.allCases)
    func transactionReceipt(_ spacing: SimulatedTransactionReceipt.Spacing) {
        let original = SimulatedTransactionReceipt(
            bundleID: "com.example.application", appAppleID: 123, environment: .sandbox, applicationVersion: "220",
            purchase: SimulatedPurchase(
                transactionID: "1234567890", productID: "com.example.product.1", quantity: 2,
                kind: .autoRenewableSubscription, purchaseDateMilliseconds: 1_361_210_751_012,
                expiresDateMilliseconds: 1_363_210_751_012, webOrderLineItemID: 7),
            spacing: spacing, behaviour: [.hang])
        #expect(SimulatedTransactionReceipt(parsing: original.base64Encoded()) == original)
    }

    @Test("Cut, altered or random bytes never crash the simulation's receipt parser, and the parser refuses junk")
    func rubbish() {
        var generator = SystemRandomNumberGenerator()
        let der = receipt(behaviour: [.genuine]).derEncoded { _ in .dummy }
        for length in 0..<der.count { _ = SimulatedReceipt(parsing: base64(Array(der[..<length]))) }
        for index in der.indices {
            for value: UInt8 in [0x00, 0x7F, 0x80, 0x84, 0xFF] {
                var broken = der
                broken[index] = value
                _ = SimulatedReceipt(parsing: base64(broken))
            }
        }
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0..<300, using: &generator)).map { _ in UInt8.random(in: .min ... .max) }
            _ = SimulatedReceipt(parsing: base64(bytes))
            _ = SimulatedTransactionReceipt(parsing: base64(bytes))
            _ = SimulatedReceipt(parsing: String(decoding: bytes, as: UTF8.self))
        }
        #expect(SimulatedReceipt(parsing: "Y29tLnVydXMuaWFwLjk2NjU3Mjkw") == nil)
        #expect(SimulatedReceipt(parsing: "") == nil)
        #expect(SimulatedReceipt(parsing: base64([UInt8](repeating: 0x30, count: 100_000))) == nil)
    }

    private func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
