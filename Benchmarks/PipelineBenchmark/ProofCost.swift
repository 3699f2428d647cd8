import AppStoreSimulation
import AppleProofs
import Foundation

/// Measures the signature check of a receipt or a transaction alone, with a known certificate chain.
struct ProofCost {
    /// The number of different receipts, and of different transactions.
    private static let samples = 200
    private static let rounds = 10

    let signing: String

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    func measure() throws -> String {
        let signer = try SimulatedSigner(folder: signing)
        let pem = try String(
            contentsOf: URL(fileURLWithPath: signing).appendingPathComponent("root.pem"), encoding: .utf8)
        let reader = ProofReader(roots: try AppleRoots(pem: pem))
        let receipts = try (0..<Self.samples).map { number in
            let receipt = SimulatedReceipt(
                bundleID: Traffic.bundleID,
                purchases: [.init(transactionID: String(900_000_000_000 + number), productID: Traffic.productID)])
            guard let bytes = Data(base64Encoded: try receipt.base64Encoded { try signer.sign($0) }) else {
                throw Failure(description: "a receipt could not be encoded")
            }
            return [UInt8](bytes)
        }
        let transactions = try (0..<Self.samples).map { number in
            try signer.signedTransaction(claims: Self.claims(number))
        }
        let receiptCost = try cost(of: receipts) { bytes in
            if case .read(let receipt) = reader.readReceipt(bytes) { receipt.signature == .proven } else { false }
        }
        let transactionCost = try cost(of: transactions) { text in
            if case .read(let transaction) = reader.readSignedTransaction(text) {
                transaction.signature == .proven
            } else {
                false
            }
        }
        return
            "proving costs \(receiptCost) µs of CPU for an app receipt, \(transactionCost) µs for a signed transaction"
    }

    private func cost<Proof>(of proofs: [Proof], isProven: (Proof) -> Bool) throws -> Int {
        guard proofs.allSatisfy(isProven) else { throw Failure(description: "a proof is not proven") }
        let start = Self.processorSeconds
        for _ in 0..<Self.rounds { for proof in proofs { _ = isProven(proof) } }
        return Int((Self.processorSeconds - start) / Double(Self.rounds * proofs.count) * 1e6)
    }

    /// The processor seconds of this process. In POSIX `clock` counts microseconds.
    private static var processorSeconds: Double { Double(clock()) * 1e-6 }

    private static func claims(_ number: Int) -> String {
        """
        {"transactionId":"\(900_000_000_000 + number)","originalTransactionId":"\(900_000_000_000 + number)",\
        "bundleId":"\(Traffic.bundleID)","productId":"\(Traffic.productID)","purchaseDate":1777629600000,\
        "originalPurchaseDate":1777629600000,"quantity":1,"type":"Consumable","inAppOwnershipType":"PURCHASED",\
        "signedDate":1777629600000,"environment":"Production","transactionReason":"PURCHASE","storefront":"USA",\
        "storefrontId":"143441","price":1990,"currency":"USD"}
        """
    }
}
