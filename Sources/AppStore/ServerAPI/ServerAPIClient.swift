import Clocks
import Fulfillment
import PooledHTTP

/// Asks the App Store Server API for single transactions: production first, and the sandbox where production knows none.
///
/// Each request passes the limits first, and one that waits there holds no connection. Call `shutdown()` before the last
/// reference goes.
public final class ServerAPIClient: Sendable {
    /// As in metrics and limits: Apple limits it apart from verifyReceipt.
    public static let endpoint = "transactions"
    /// The sandbox takes a tenth of what Production does, and every invented id goes on to it. They would wait there by the
    /// thousand, in places that others need: those who come when more wait than pass in so many seconds come again.
    private static let sandboxQueueSeconds = 2.0
    private static let path = "/inApps/v1/transactions"
    /// For people: without the id.
    private static let shownPath = "inApps/v1/transactions"
    /// Of a transaction id, in bytes. Apple's are far shorter.
    private static let maximumIDLength = 64

    private let limits: AppleLimits
    private let connection: HTTPClient
    private let production: HTTPEndpoint
    private let sandbox: HTTPEndpoint
    private let secrets: @Sendable (String) -> String?
    private let proofs: any ProofParser
    private let observer: (any AppleObserver)?
    private let now: @Sendable () -> Timestamp
    private let tokens = ServerAPITokens()

    /// - Parameters:
    ///   - secrets: the private key that a setting holds, by the setting's name.
    ///   - proofs: proves what Apple signed.
    ///   - limits: shared by all clients of the process. Nil: nothing but the settings' `maxConcurrency`.
    ///   - now: for tokens and `Retry-After`; the wall clock where nil.
    public init(
        settings: AppleSettings, secrets: @escaping @Sendable (String) -> String?, proofs: any ProofParser,
        limits: AppleLimits? = nil, observer: (any AppleObserver)? = nil, now: (@Sendable () -> Timestamp)? = nil
    ) throws(AppleSettingsFault) {
        guard let production = HTTPEndpoint(url: settings.serverAPIProductionURL) else {
            throw .notAnHTTPURL(setting: "APPLE_SERVER_API_PRODUCTION_URL")
        }
        guard let sandbox = HTTPEndpoint(url: settings.serverAPISandboxURL) else {
            throw .notAnHTTPURL(setting: "APPLE_SERVER_API_SANDBOX_URL")
        }
        connection = try HTTPClient(settings, to: [production, sandbox])
        self.production = production
        self.sandbox = sandbox
        self.limits = limits ?? AppleLimits(fixedConcurrency: settings.maxConcurrency)
        self.secrets = secrets
        self.proofs = proofs
        self.observer = observer
        self.now = now ?? { WallClock.now }
    }

    /// Ends what is in flight as trouble and closes all connections. Later tries are trouble.
    public func shutdown() async {
        await connection.shutdown()
    }

    /// One try for one transaction.
    /// - Parameter request: the one that asks for it.
    public func look(
        up id: StoreTransactionID, _ credentials: ServerAPICredentials, for request: VerificationRequest
    ) async -> AppleAnswer {
        // It goes into an address: what no id of Apple's looks like is not sent.
        guard Self.isAskable(id) else { return .refused(.invalidTransaction) }
        let hasToken = token(for: request.bundleID, credentials) != nil
        guard limits.mayAsk(request.bundleID, endpoint: Self.endpoint, hasSecret: hasToken) else {
            return .blocked(.serverAPI)
        }
        let answer = await ask(id, credentials, for: request)
        limits.note(answer, to: request, endpoint: Self.endpoint)
        return answer
    }

    /// Whether the setting that the credentials name holds a private key.
    public func hasKey(for bundleID: BundleID, _ credentials: ServerAPICredentials) -> Bool {
        token(for: bundleID, credentials) != nil
    }

    private static func isAskable(_ id: StoreTransactionID) -> Bool {
        (1...maximumIDLength).contains(id.text.utf8.count)
            && id.text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }

    /// The secret is read each time: a rotated one is seen.
    private func token(for bundleID: BundleID, _ credentials: ServerAPICredentials) -> String? {
        guard let key = secrets(credentials.privateKeySetting), !key.isEmpty else { return nil }
        return tokens.token(for: bundleID, credentials, privateKey: key, now: now())
    }

    /// At most one change of environment.
    private func ask(
        _ id: StoreTransactionID, _ credentials: ServerAPICredentials, for request: VerificationRequest
    ) async -> AppleAnswer {
        for environment in [StoreEnvironment.production, .sandbox] {
            let scope = AppleScope(bundleID: request.bundleID, endpoint: Self.endpoint, environment: environment)
            let mustNotPile = environment == .sandbox && !request.isProven
            let queueSeconds = mustNotPile ? Self.sandboxQueueSeconds : nil
            let answer = await limits.send(to: scope, for: request, queueSeconds: queueSeconds) {
                // Here, and not before the wait in front of Apple: it might end meanwhile.
                guard let token = token(for: request.bundleID, credentials) else {
                    return (TransactionAnswer.answer(.blocked(.serverAPI)), AppleLimits.End.unknown)
                }
                let answer = await ask(id, token, in: environment, ended: request.ended)
                return (answer, AppleLimits.End(answer, now: now()))
            }
            guard let answer else { return limits.notSent(to: scope, now: now()) }
            guard case .answer(let told) = answer else { continue }
            guard case .blocked = told else { return told }
            tokens.forget(request.bundleID)
            // Production has just taken the same token: invented ids, which all come here, are to prove nothing.
            return environment == .production ? told : .trouble(.init(.status))
        }
        return .refused(.unknownTransaction)
    }

    private func ask(
        _ id: StoreTransactionID, _ token: String, in environment: StoreEnvironment,
        ended: (@Sendable (AppleTry) -> Void)?
    ) async -> TransactionAnswer {
        let start = ContinuousClock.now
        let result = await connection.send(
            HTTPExchange(
                environment == .production ? production : sandbox, path: "\(Self.path)/\(id.text)",
                bearer: token, userAgent: HTTPClient.userAgent))
        let elapsed = ContinuousClock.now - start
        let answer = read(result, asked: id)
        if !Task.isCancelled {
            let endpoint = environment == .production ? production : sandbox
            observer?.reached(endpoint.shownURL + Self.shownPath, noAnswer: result.noAnswer)
        }
        ended?(
            AppleTry(
                at: now(), endpoint: Self.endpoint, environment: environment, result: answer.label,
                status: (try? result.get()).map { Int64($0.status) }, milliseconds: Int64(elapsed / .milliseconds(1))))
        observer?.requestEnded(
            endpoint: Self.endpoint, environment: environment, result: answer.label, seconds: elapsed / .seconds(1))
        return answer
    }

    private func read(
        _ result: Result<HTTPResponse, HTTPFailure>, asked id: StoreTransactionID
    ) -> TransactionAnswer {
        switch result {
        case .failure(let failure): .answer(.trouble(.init(failure.troubleKind)))
        case .success(let answer):
            .parse(
                TransactionAnswer.Response(
                    status: answer.status, body: answer.body,
                    retryNotBefore: answer.retryAfter.flatMap { RetryAfter.parse($0, date: answer.date, now: now()) }),
                asked: id, proofs: proofs)
        }
    }
}
