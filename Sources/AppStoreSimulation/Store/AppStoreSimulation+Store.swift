extension AppStoreSimulation {
    /// Changes the store, which answers every endpoint, at this moment of the simulation's clock. Set `now` first for
    /// an earlier change. Apple's notifications of the change are kept for the notification history, and handed to
    /// `Options.notified`.
    public func inStore<Result: Sendable>(_ change: (inout SimulatedStore) throws -> Result) rethrows -> Result {
        try service.store.change(now: service.now(), change)
    }

    /// Returns all notifications so far, in order, signed anew.
    /// - Parameter first: the number of the oldest ones to leave out.
    public func notifications(from first: Int = 0) -> [SignedNotification] {
        service.store.notifications(from: first)
    }

    /// Returns the JWS of a transaction as StoreKit hands it to the client. Throws if the store does not know it.
    /// - Parameter time: the time at which Apple signs it, in milliseconds since 1970; nil for now.
    public func signedTransaction(_ id: String, signedAt time: Int64? = nil) throws -> String {
        let signedAt = time ?? service.now()
        let claims = try service.store.read { try $0.transaction(id).claims(signedAt: signedAt) }
        return try service.store.sign(claims)
    }

    /// Returns the app receipt that is on the account's device now, in base64.
    /// - Parameter time: the time at which Apple made it, in milliseconds since 1970; nil for now.
    public func receiptData(of account: SimulatedAccount, createdAt time: Int64? = nil) -> String {
        let createdAt = time ?? service.now()
        return service.store.encoded(service.store.read { $0.receipt(of: account, createdAt: createdAt) })
    }

    /// Sets the behaviour of one endpoint, or of it for one id, counted from now; nil removes it. A behaviour that
    /// `setBehaviour(_:endpoint:)` set for a whole environment comes before it.
    /// - Parameter id: the id of the transaction or the order in the request's path; nil for all.
    public func setBehaviour(_ behaviour: SimulatedBehaviour?, of endpoint: SimulatedEndpoint, id: String? = nil) {
        service.update { $0.set(behaviour, of: endpoint, id: id, endpoint: nil) }
    }
}
