import Fulfillment
import NamesAndTimes
import Synchronization

extension AppleLimits: AppleState {
    public var isDown: Bool { state.withLock { $0.downSince != nil } }

    public var downSeconds: Double {
        let now = now()
        return state.withLock { state in state.downBefore + (state.downSince.map { max(0, now - $0) } ?? 0) }
    }

    public var answersOthers: Bool {
        let now = now()
        return state.withLock { $0.downSince == nil && now - $0.lastAnswer < Self.answeringSeconds }
    }

    /// Reports a circuit that opened or closed, and whether Apple as a whole went down or came back. The caller has
    /// locked `state`.
    func noteShut(_ scope: AppleScope, _ state: inout State, now: Double) {
        let isOpen = [StoreEnvironment.production, .sandbox].contains { environment in
            let sibling = AppleScope(bundleID: scope.bundleID, endpoint: scope.endpoint, environment: environment)
            return state.scopes[sibling]?.limits.circuits.isOpen(now: now) ?? false
        }
        let key = Credentials(bundleID: scope.bundleID, endpoint: scope.endpoint)
        if state.told.openCircuits.contains(key) != isOpen {
            if isOpen { state.told.openCircuits.insert(key) } else { state.told.openCircuits.remove(key) }
            observer?.circuit(bundleID: scope.bundleID, endpoint: scope.endpoint, isOpen: isOpen)
        }
        // Only requests about proofs to Production decide whether Apple as a whole is down, because no real purchase
        // waits for the sandbox or for receiptd's own requests.
        let inUse = state.scopes.filter {
            $0.key.environment == .production && $0.key.isOfProofs
                && (now - $0.value.lastUse < Self.inUseSeconds || !$0.value.isEmpty)
        }
        let isDown = !inUse.isEmpty && inUse.allSatisfy { $0.value.limits.isShut(now: now) }
        guard isDown != (state.downSince != nil) else { return }
        let seconds = state.downSince.map { now - $0 } ?? 0
        state.downBefore += seconds
        state.downSince = isDown ? now : nil
        observer?.apple(isDown: isDown, afterSeconds: seconds)
    }

    /// Returns the answer to a request that was cancelled, or that waited too long for its turn.
    @inline(never)
    func notSent(to scope: AppleScope, now: Timestamp) -> AppleAnswer.Trouble {
        if Task.isCancelled { return .init(.connection) }
        if let seconds = heldSeconds(scope) {
            let end = now.adding(milliseconds: Int64(seconds * 1000))
            return .init(.rateLimited, retryNotBefore: end, wasAsked: false)
        }
        let isOpen = state.withLock { state in
            [true, false].contains { state.scopes[scope]?.limits.circuits[isProven: $0].isOpen ?? false }
        }
        return .init(isOpen ? .connection : .rateLimited, wasAsked: false)
    }

    // MARK: Credentials

    /// Returns whether a request with the app's credentials may go. If false, the caller's answer is `blocked`.
    /// - Parameters:
    ///   - setting: the setting of the secret or the key; nil if the catalog names none.
    ///   - hasSecret: true if the setting has a secret or a key, or if the catalog names no setting.
    func mayAsk(
        _ bundleID: BundleID, endpoint: String, setting: String?, hasSecret: Bool, isProven: Bool = true
    ) -> Bool {
        if isFixed { return hasSecret }
        return change(bundleID, endpoint) { credentials, now in
            credentials.setting = setting
            credentials.state.secret(isMissing: !hasSecret)
            return hasSecret && credentials.state.mayAsk(isProven: isProven, now: now)
        }
    }

    /// Updates the state of the credentials by verifyReceipt's answer. Apple may refuse an unproven proof although the
    /// credentials are right. So this function turns such a refusal into trouble of that proof alone.
    /// - Returns: the answer for the proof.
    func noted(_ answer: AppleAnswer, to request: VerificationRequest, endpoint: String) -> AppleAnswer {
        if isFixed { return answer }
        switch answer {
        case .blocked(let blockage):
            change(request.bundleID, endpoint) { credentials, now in
                if request.isProven { credentials.refusal = blockage }
                credentials.state.refused(
                    player: request.playerID?.hashValue ?? request.proofHash,
                    receipt: request.proofHash, isProven: request.isProven,
                    holdsAutoRenewable: request.holdsAutoRenewable, now: now)
            }
            return request.isProven ? answer : .trouble(.init(.credentials))
        case .genuine(let receipt):
            change(request.bundleID, endpoint) { credentials, _ in
                credentials.state.succeeded(
                    receipt: request.proofHash, didCheckSecret: receipt.holdsAutoRenewable)
            }
        case .refused, .trouble: break
        }
        return answer
    }

    /// Updates the state of the credentials after Apple accepted (`isTaken`) or refused the token.
    func noteToken(isTaken: Bool, of bundleID: BundleID, endpoint: String) {
        if isFixed { return }
        change(bundleID, endpoint) { credentials, now in
            credentials.refusal = .serverAPI
            if isTaken {
                credentials.state.succeeded(didCheckSecret: true)
            } else {
                credentials.state.refusedForCertain(now: now)
            }
        }
    }

    /// Updates the state of the credentials by an answer. Each answer but 401 shows that Apple accepted the token, even
    /// if Apple does not know the transaction.
    func noteToken(_ answer: AppleAnswer, of bundleID: BundleID, endpoint: String) {
        switch answer {
        case .blocked: noteToken(isTaken: false, of: bundleID, endpoint: endpoint)
        case .genuine, .refused: noteToken(isTaken: true, of: bundleID, endpoint: endpoint)
        case .trouble: break
        }
    }

    /// Forgets the faults of the endpoint's credentials for each app that is not in `apps`. `apps` are the apps that
    /// have credentials.
    public func keepCredentials(of apps: Set<BundleID>, endpoint: String) {
        let gone = state.withLock { state in
            state.credentials.keys.filter { $0.endpoint == endpoint && !apps.contains($0.bundleID) }
        }
        for key in gone { change(key.bundleID, endpoint) { credentials, _ in credentials.state = CredentialsState() } }
    }

    private func change<Value>(
        _ bundleID: BundleID, _ endpoint: String, _ body: (CredentialsBox, Double) -> Value
    ) -> Value {
        let now = now()
        let key = Credentials(bundleID: bundleID, endpoint: endpoint)
        return state.withLock { state in
            let known = state.credentials[key]
            let credentials = known ?? CredentialsBox()
            if known == nil { state.credentials[key] = credentials }
            let value = body(credentials, now)
            noteDoubt(key, credentials.state.areDoubted, &state)
            let fault = credentials.fault(of: endpoint, now: now)
            if state.told.misconfigured[key] != fault {
                state.told.misconfigured[key] = fault
                observer?.credentials(bundleID: bundleID, endpoint: endpoint, fault: fault)
            }
            return value
        }
    }

    /// Reports a change of the doubt about verifyReceipt's credentials. The App Store Server API's credentials cannot
    /// be in doubt, because no receipt causes its 401.
    private func noteDoubt(_ key: Credentials, _ areDoubted: Bool, _ state: inout State) {
        guard state.told.doubted.contains(key.bundleID) != areDoubted, key.endpoint == VerifyReceiptClient.endpoint
        else {
            return
        }
        if areDoubted { state.told.doubted.insert(key.bundleID) } else { state.told.doubted.remove(key.bundleID) }
        observer?.credentials(bundleID: key.bundleID, areDoubted: areDoubted)
    }
}

extension AppleLimits.CredentialsBox {
    fileprivate func fault(of endpoint: String, now: Double) -> CredentialsFault? {
        guard state.isMisconfigured(now: now) else { return nil }
        return CredentialsFault(endpoint: endpoint, setting: setting, refusal: state.isMissing ? nil : refusal)
    }
}
