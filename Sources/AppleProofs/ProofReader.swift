import Fulfillment

/// Reads receipts and signed transactions. Without asking Apple, checks whether Apple signed them.
///
/// The reader does no I/O and reads no clock. The signed data itself names the time at which the signature must be
/// valid. Equal bytes give equal results. Any thread may use the reader. Copies of a reader share one cache of Apple's
/// certificate chains.
public struct ProofReader: Sendable {
    /// The most bytes of a receipt or a signed transaction.
    public static let maximumSize = 1024 * 1024

    let chains: ChainVerifier

    /// - Parameter rememberedChains: the number of Apple's certificate chains to remember. Apple uses a handful.
    public init(roots: AppleRoots, rememberedChains: Int = 64) {
        chains = ChainVerifier(roots: roots, cache: VerifiedChainCache(capacity: rememberedChains))
    }

    init(chains: ChainVerifier) { self.chains = chains }

    /// Reads the decoded bytes of `receipt_data`: an iOS 7+ app receipt or an iOS 6 transaction receipt.
    /// - Parameter matters: a function that returns whether the signature of an app receipt with this content matters.
    ///   If the result is false, the reader does not check the signature.
    public func readReceipt(
        _ bytes: [UInt8], provingWhere matters: (LocalReceipt) -> Bool = { _ in true }
    ) -> ReceiptReading {
        guard bytes.count <= Self.maximumSize else { return .malformed("the receipt is longer than 1 MiB") }
        return bytes.first == BERTag.sequence ? readAppReceipt(bytes, matters) : readTransactionReceipt(bytes)
    }

    private func readAppReceipt(_ bytes: [UInt8], _ matters: (LocalReceipt) -> Bool) -> ReceiptReading {
        guard let message = try? SignedMessage(bytes) else { return .malformed("not a PKCS #7 signed message") }
        guard let first = message.signers.first, let signer = try? MessageSigner(first, in: bytes) else {
            return .malformed("the receipt has no signer")
        }
        guard let payload = try? ReceiptPayload(message.content) else {
            return .malformed("the signed content is no receipt")
        }
        guard let creationDate = payload.creationDate else { return .malformed("the receipt has no creation date") }
        var receipt = LocalReceipt(
            style: .appReceipt, bundleID: payload.bundleID, appAppleID: payload.appAppleID,
            environment: payload.environment, creationDate: creationDate, purchases: payload.purchases,
            kinds: payload.kinds, unreadablePurchases: payload.unreadablePurchases,
            holdsAutoRenewable: payload.holdsAutoRenewable, signature: .notProvable(.notLookedAt))
        receipt.hasUnreadableFields = payload.hasUnreadableFields
        receipt.isLocal = payload.isLocal
        if matters(receipt) { receipt.signature = message.signature(signer, at: creationDate, chains: chains) }
        return .read(receipt)
    }

    private func readTransactionReceipt(_ bytes: [UInt8]) -> ReceiptReading {
        let receipt: TransactionReceipt
        do throws(TransactionReceipt.Fault) {
            receipt = try TransactionReceipt(bytes)
        } catch {
            return .malformed(error.rawValue)
        }
        let purchase = receipt.purchase
        let signedAt = purchase.hasUnreadablePurchaseTime ? nil : purchase.purchasedAt
        // Without a readable purchase time, receiptd cannot tell whether the certificates were valid at that time.
        let isProven =
            signedAt.flatMap { time in
                receipt.signature.flatMap(TransactionSignature.init)?
                    .isProven(over: receipt.purchaseInfo, at: time, chains: chains)
            } ?? false
        var reading = LocalReceipt(
            style: .transactionReceipt, bundleID: receipt.bundleID, appAppleID: receipt.appAppleID,
            environment: receipt.environment, creationDate: signedAt, purchases: [purchase],
            kinds: [nil], unreadablePurchases: 0, holdsAutoRenewable: purchase.expiresAt != nil,
            signature: isProven ? .proven : .notProvable(.transactionSignature))
        reading.hasUnreadableFields = receipt.hasUnreadableFields
        return .read(reading)
    }
}
