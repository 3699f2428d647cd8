extension AppStoreSimulation {
    /// Changes the store, which answers every endpoint, at this moment of the simulation's clock; set `now` first for
    /// what happened earlier. Apple's notifications of the change are kept for notification history and handed to
    /// `Options.notified`.
    public func inStore<Result: Sendable>(_ change: (inout SimulatedStore) throws -> Result) rethrows -> Result {
        try service.store.change(now: service.now(), change)
    }

    /// Everything that was told so far, in order, signed anew.
    /// - Parameter first: how many of the oldest are left out.
    public func notifications(from first: Int = 0) -> [SignedNotification] {
        service.store.notifications(from: first)
    }

    /// The JWS of a transaction as StoreKit hands it to the client. Throws where the store does not know it.
    /// - Parameter time: when Apple signs it, in milliseconds since 1970; nil: now.
    public func signedTransaction(_ id: String, signedAt time: Int64? = nil) throws -> String {
        let signedAt = time ?? service.now()
        let claims = try service.store.read { try $0.transaction(id).claims(signedAt: signedAt) }
        return try service.store.sign(claims)
    }

    /// The app receipt that is on the account's device now, as base64.
    /// - Parameter time: when Apple made it, in milliseconds since 1970; nil: now.
    public func receiptData(of account: SimulatedAccount, createdAt time: Int64? = nil) -> String {
        let createdAt = time ?? service.now()
        return service.store.encoded(service.store.read { $0.receipt(of: account, createdAt: createdAt) })
    }

    /// Sets the behaviour of one endpoint, or of it for one id, counted from now; nil takes it back. It goes behind
    /// what `setBehaviour(_:endpoint:)` says for a whole environment.
    /// - Parameter id: of the transaction or the order in the request's path.
    public func setBehaviour(_ behaviour: SimulatedBehaviour?, of endpoint: SimulatedEndpoint, id: String? = nil) {
        service.update { $0.set(behaviour, of: endpoint, id: id, endpoint: nil) }
    }
}
