extension AppStoreSimulation {
    /// Changes the store at the present time of the simulation's clock. To give the change an earlier time, the closure
    /// sets the store's `now` first. The notifications of the change go to the notification history and to
    /// `Options.notified`.
    public func inStore<Result: Sendable>(_ change: (inout SimulatedStore) throws -> Result) rethrows -> Result {
        try service.store.change(now: service.now(), change)
    }

    /// Returns the notifications in order, each with a new signature.
    /// - Parameter first: how many of the oldest notifications to leave out.
    public func notifications(from first: Int = 0) -> [SignedNotification] {
        service.store.notifications(from: first)
    }

    /// Returns the JWS of a transaction as StoreKit gives it to the client. Throws if the store does not know the
    /// transaction.
    /// - Parameter time: the time of Apple's signature, in milliseconds since 1970; nil for now.
    public func signedTransaction(_ id: String, signedAt time: Int64? = nil) throws -> String {
        let signedAt = time ?? service.now()
        let claims = try service.store.read { try $0.transaction(id).claims(signedAt: signedAt) }
        return try service.store.sign(claims)
    }

    /// Returns the app receipt on the account's device, in base64.
    /// - Parameter time: the receipt's creation time, in milliseconds since 1970; nil for now.
    public func receiptData(of account: SimulatedAccount, createdAt time: Int64? = nil) -> String {
        let createdAt = time ?? service.now()
        return service.store.encoded(service.store.read { $0.receipt(of: account, createdAt: createdAt) })
    }

    /// Sets the behaviour of one endpoint, or of one id at this endpoint; nil removes the behaviour. The next request
    /// gets the first step. A behaviour of the whole environment (`setBehaviour(_:endpoint:)`) has precedence.
    /// - Parameter id: the id of the transaction or the order in the request's path; nil for all ids.
    public func setBehaviour(_ behaviour: SimulatedBehaviour?, of endpoint: SimulatedEndpoint, id: String? = nil) {
        service.update { $0.set(behaviour, of: endpoint, id: id, endpoint: nil) }
    }
}
