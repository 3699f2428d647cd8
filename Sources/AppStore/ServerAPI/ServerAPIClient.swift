import Fulfillment
import NamesAndTimes
import PooledHTTP

/// Sends requests to the App Store Server API: first to Production, then to the sandbox if Production does not know the
/// transaction.
///
/// The functions in this file look up the transaction of a submission; an extension adds `StoreQueries`. All requests
/// of an app share one token, and so one state of credentials. Each endpoint has its own limits, because Apple limits
/// each endpoint separately.
///
/// Each request first waits for the limits, without a connection. Call `shutdown()` before the last reference is
/// released.
public final class ServerAPIClient: Sendable {
    /// The endpoint's name in metrics and limits.
    public static let endpoint = AppleEndpoint.transactions.rawValue
    /// The most seconds that an unproven request may queue for the sandbox. The sandbox has a tenth of Production's
    /// rate, and gets a request for every invented id. Without this limit, thousands of requests would wait for the
    /// sandbox, and take the places of other requests. If the queue is longer, the request fails at once and comes
    /// again later.
    private static let sandboxQueueSeconds = 2.0

    let limits: AppleLimits
    let tokens = ServerAPITokens()
    let proofs: any ProofParser & SignedDataParser
    let now: @Sendable () -> Timestamp
    /// The time-out of one exchange in milliseconds, including the time for its connection.
    let exchangeMilliseconds: Int64
    private let connection: HTTPClient
    private let production: HTTPEndpoint
    private let sandbox: HTTPEndpoint
    private let secrets: @Sendable (String) -> String?
    private let observer: (any AppleObserver)?

    /// - Parameters:
    ///   - secrets: returns the private key in the setting with a given name; nil if the setting is empty.
    ///   - proofs: the parsers that prove the signed parts of answers.
    ///   - limits: the limits that all clients of the process share; nil for only the limit `settings.maxConcurrency`.
    ///   - now: the clock for tokens and `Retry-After`; nil for the wall clock.
    public init(
        settings: AppleSettings, secrets: @escaping @Sendable (String) -> String?,
        proofs: any ProofParser & SignedDataParser, limits: AppleLimits? = nil, observer: (any AppleObserver)? = nil,
        now: (@Sendable () -> Timestamp)? = nil
    ) throws(AppleSettingsFault) {
        guard let production = HTTPEndpoint(url: settings.serverAPIProductionURL) else {
            throw .notAnHTTPURL(setting: "APPLE_SERVER_API_PRODUCTION_URL")
        }
        guard let sandbox = HTTPEndpoint(url: settings.serverAPISandboxURL) else {
            throw .notAnHTTPURL(setting: "APPLE_SERVER_API_SANDBOX_URL")
        }
        connection = try HTTPClient(settings, to: [production, sandbox])
        exchangeMilliseconds = Int64(min(settings.timeoutSeconds, 86_400) * 1000)
        self.production = production
        self.sandbox = sandbox
        self.limits = limits ?? AppleLimits(fixedConcurrency: settings.maxConcurrency)
        self.secrets = secrets
        self.proofs = proofs
        self.observer = observer
        self.now = now ?? { WallClock.now }
    }

    /// Ends the requests in flight, and closes all connections. These requests and all later requests get trouble as
    /// their answer.
    public func shutdown() async {
        await connection.shutdown()
    }

    /// Asks Apple about one transaction, in one try.
    /// - Parameter request: the submission's request.
    public func look(
        up id: StoreTransactionID, _ credentials: ServerAPICredentials, for request: VerificationRequest
    ) async -> AppleAnswer {
        guard let query = ServerAPIQuery.transaction(id) else { return .refused(.invalidTransaction) }
        let hasToken = token(for: request.bundleID, credentials) != nil
        let mayAsk = limits.mayAsk(
            request.bundleID, endpoint: Self.endpoint, setting: credentials.privateKeySetting, hasSecret: hasToken,
            isProven: request.isProven)
        guard mayAsk else { return .blocked(.serverAPI) }
        let answer = await ask(query, about: id, credentials, for: request)
        var telling = answer
        if case .blocked = answer, !request.isProven { telling = await askNeutrally(credentials, for: request) }
        limits.noteToken(telling, of: request.bundleID, endpoint: Self.endpoint)
        guard case .blocked = answer else { return answer }
        if case .blocked = telling { return answer }
        return .trouble(.init(.credentials))
    }

    /// Asks Apple about `noTransaction`. A player can send an id for which Apple answers `blocked` although the
    /// credentials are right. So the credentials count as wrong only if the answer about `noTransaction` is `blocked`
    /// too.
    private func askNeutrally(
        _ credentials: ServerAPICredentials, for request: VerificationRequest
    ) async -> AppleAnswer {
        guard let query = ServerAPIQuery.transaction(Self.noTransaction) else { return .refused(.invalidTransaction) }
        var neutral = VerificationRequest(
            bundleID: request.bundleID, subject: .transaction(Self.noTransaction, credentials))
        neutral.isProven = true
        neutral.isRetry = true
        neutral.isLeased = request.isLeased
        neutral.waiting = request.waiting
        return await ask(query, about: Self.noTransaction, credentials, for: neutral)
    }

    /// An id that Apple gives to no transaction.
    public static let noTransaction: StoreTransactionID = "0"

    /// Returns whether the setting in the credentials has a private key.
    public func hasKey(for bundleID: BundleID, _ credentials: ServerAPICredentials) -> Bool {
        token(for: bundleID, credentials) != nil
    }

    /// Returns the app's token; nil if there is no key. Reads the key at each call, so that a rotated key takes effect.
    func token(for bundleID: BundleID, _ credentials: ServerAPICredentials) -> String? {
        guard let key = secrets(credentials.privateKeySetting), !key.isEmpty else { return nil }
        return tokens.token(for: bundleID, credentials, privateKey: key, now: now())
    }

    /// Asks Apple about one transaction, with at most one change of environment.
    private func ask(
        _ query: ServerAPIQuery, about id: StoreTransactionID, _ credentials: ServerAPICredentials,
        for request: VerificationRequest
    ) async -> AppleAnswer {
        for environment in [StoreEnvironment.production, .sandbox] {
            let scope = AppleScope(bundleID: request.bundleID, endpoint: Self.endpoint, environment: environment)
            let mustNotPile = environment == .sandbox && !request.isProven
            let queueSeconds = mustNotPile ? Self.sandboxQueueSeconds : nil
            let answer = await limits.send(to: scope, for: AppleAsker(request), queueSeconds: queueSeconds) {
                // The token is made after the wait for the limits, because it might expire during the wait.
                guard let token = token(for: request.bundleID, credentials) else {
                    return (TransactionAnswer.answer(.blocked(.serverAPI)), AppleLimits.End.unknown)
                }
                let sent = await send(query, token, in: environment)
                let answer = read(sent.result, asked: id)
                tell(sent, answer.label, to: request.ended)
                return (answer, AppleLimits.End(answer, now: now()))
            }
            guard let answer else { return .trouble(limits.notSent(to: scope, now: now())) }
            guard case .answer(let told) = answer else { continue }
            guard case .blocked = told else { return told }
            tokens.forget(request.bundleID)
            // Production has just accepted this token, so the sandbox's refusal does not show wrong credentials.
            // Anybody can invent an id, and requests about all invented ids reach the sandbox.
            return environment == .production ? told : .trouble(.init(.status))
        }
        return .refused(.unknownTransaction)
    }

    private func read(
        _ result: Result<HTTPResponse, HTTPFailure>, asked id: StoreTransactionID
    ) -> TransactionAnswer {
        switch result {
        case .failure(let failure): .answer(.trouble(.init(failure.troubleKind)))
        case .success(let answer):
            .parse(
                TransactionAnswer.Response(
                    status: answer.status, body: answer.body, retryNotBefore: retryNotBefore(answer)),
                asked: id, proofs: proofs)
        }
    }

    // MARK: One request

    /// One request that has ended.
    struct Sent {
        let query: ServerAPIQuery
        let environment: StoreEnvironment
        let result: Result<HTTPResponse, HTTPFailure>
        /// The seconds from the request's start to its end.
        let seconds: Double
    }

    func send(_ query: ServerAPIQuery, _ token: String, in environment: StoreEnvironment) async -> Sent {
        await Suspected.work?.waits()
        let start = WallClock.monotonicSeconds
        let endpoint = environment == .production ? production : sandbox
        let result = await connection.send(
            HTTPExchange(
                query.method, endpoint, path: query.path, bearer: token, userAgent: HTTPClient.userAgent,
                body: query.body))
        let seconds = WallClock.monotonicSeconds - start
        await Suspected.work?.works()
        if !Task.isCancelled {
            let base = endpoint.shownURL.hasSuffix("/") ? endpoint.shownURL : endpoint.shownURL + "/"
            observer?.reached(base + query.shownPath, noAnswer: result.noAnswer)
        }
        return Sent(
            query: query, environment: environment, result: result, seconds: seconds)
    }

    func tell(_ sent: Sent, _ label: String, to ended: (@Sendable (AppleTry) -> Void)?) {
        let endpoint = sent.query.endpoint.rawValue
        ended?(
            AppleTry(
                at: now(), endpoint: endpoint, environment: sent.environment, result: label,
                status: (try? sent.result.get()).map { Int64($0.status) },
                milliseconds: Int64((sent.seconds * 1000).rounded())))
        observer?.requestEnded(
            endpoint: endpoint, environment: sent.environment, result: label, seconds: sent.seconds)
    }

    func retryNotBefore(_ response: HTTPResponse) -> Timestamp? {
        response.retryAfter.flatMap { RetryAfter.parse($0, date: response.date, now: now()) }
    }
}
