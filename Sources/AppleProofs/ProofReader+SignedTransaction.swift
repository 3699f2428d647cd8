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
        let claims: TransactionClaims
        do throws(TransactionClaims.Fault) {
            claims = try TransactionClaims(token.payload)
        } catch {
            let signature = token.signature(at: nil, chains: chains)
            guard signature == .proven else { return .unreadable(signature) }
            return switch error {
            case .notATransaction: .notATransaction
            case .nameless(let field): .nameless(field)
            }
        }
        return .read(SignedTransaction(claims, signature: signature(of: token, claims)))
    }

    /// Returns the state of the signature. If the signing time is unreadable, checks everything but the time in which
    /// the chain is valid. A transaction without a readable signing time grants no purchase.
    private func signature(of token: CompactJWS, _ claims: TransactionClaims) -> LocalSignature {
        switch (claims.environment, claims.signedDate) {
        case (.local, _): return .forged(.localEnvironment)
        case (_, .told(let time)): return token.signature(at: time, chains: chains)
        case (_, .unreadable): return token.signature(at: nil, chains: chains)
        case (_, .absent):
            let signature = token.signature(at: nil, chains: chains)
            return signature == .proven ? .forged(.signedDateMissing) : signature
        }
    }
}

extension SignedTransaction {
    fileprivate init(_ claims: TransactionClaims, signature: LocalSignature) {
        var environment: StoreEnvironment?
        if case .store(let store) = claims.environment { environment = store }
        self.init(
            purchase: claims.purchase, bundleID: claims.bundleID, environment: environment,
            signedDate: claims.signedDate.told, signature: signature)
    }
}
