import Fulfillment

extension ProofReader {
    /// Reads a StoreKit 2 JWS in its compact form.
    public func readSignedTransaction(_ jws: String) -> SignedTransactionReading {
        guard jws.utf8.count <= Self.maximumSize else { return .malformed("the JWS is longer than 1 MiB") }
        let token: CompactJWS
        do throws(CompactJWS.Fault) {
            token = try CompactJWS(jws)
        } catch {
            return .malformed(error.rawValue)
        }
        guard let claims = TransactionClaims(token.payload) else {
            let signature = token.signature(at: nil, chains: chains)
            return signature == .proven ? .notATransaction : .unreadable(signature)
        }
        return .read(SignedTransaction(claims, signature: signature(of: token, claims)))
    }

    private func signature(of token: CompactJWS, _ claims: TransactionClaims) -> LocalSignature {
        if case .local = claims.environment { return .forged(.localEnvironment) }
        if case .told(let signedDate) = claims.signedDate { return token.signature(at: signedDate, chains: chains) }
        let signature = token.signature(at: nil, chains: chains)
        guard signature == .proven else { return signature }
        return claims.signedDate.isTold ? .notProvable(.unreadableDate) : .forged(.signedDateMissing)
    }
}

extension SignedTransaction {
    fileprivate init(_ claims: TransactionClaims, signature: LocalSignature) {
        var environment: StoreEnvironment?
        if case .store(let store) = claims.environment { environment = store }
        self.init(
            purchase: claims.purchase, bundleID: claims.bundleID, environment: environment,
            signedDate: claims.signedDate.told, signature: signature, isComplete: claims.isComplete,
            refundedMilliPercent: claims.revocationPercentage, revocationType: claims.revocationType,
            subscriptionGroupID: claims.subscriptionGroupID,
            previousOriginalTransactionID: claims.previousOriginalTransactionID)
    }
}
