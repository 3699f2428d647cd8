import Fulfillment
import NamesAndTimes
import PooledHTTP

/// Sends receipts to Apple's `verifyReceipt`: first to Production, then to the sandbox if Production says that the
/// receipt belongs there.
///
/// Each request first waits for the limits, without a connection. Call `shutdown()` before the last reference is
/// released.
public final class VerifyReceiptClient: ReceiptVerifier {
    public static let endpoint = "verifyReceipt"
    /// The most bytes of an answer that the shared thread of all requests reads. Another thread reads a longer answer.
    private static let briefAnswer = 32 << 10

    private let limits: AppleLimits
    private let connection: HTTPClient
    private let production: HTTPPostTemplate
    private let sandbox: HTTPPostTemplate
    private let productionURL: String
    private let sandboxURL: String
    private let secrets: @Sendable (String) -> String?
    private let observer: (any AppleObserver)?
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - secrets: returns the shared secret in the setting with a given name; nil if the setting is empty.
    ///   - limits: the limits that all clients of the process share; nil for only the limit `settings.maxConcurrency`.
    ///   - now: the clock for `Retry-After`; nil for the wall clock.
    public init(
        settings: AppleSettings, secrets: @escaping @Sendable (String) -> String?, limits: AppleLimits? = nil,
        observer: (any AppleObserver)? = nil, now: (@Sendable () -> Timestamp)? = nil
    ) throws(AppleSettingsFault) {
        guard let production = HTTPEndpoint(url: settings.productionURL) else {
            throw .notAnHTTPURL(setting: "APPLE_VERIFY_RECEIPT_PRODUCTION_URL")
        }
        guard let sandbox = HTTPEndpoint(url: settings.sandboxURL) else {
            throw .notAnHTTPURL(setting: "APPLE_VERIFY_RECEIPT_SANDBOX_URL")
        }
        connection = try HTTPClient(settings, to: [production, sandbox])
        self.production = HTTPPostTemplate(production, userAgent: HTTPClient.userAgent)
        self.sandbox = HTTPPostTemplate(sandbox, userAgent: HTTPClient.userAgent)
        productionURL = production.shownURL
        sandboxURL = sandbox.shownURL
        self.limits = limits ?? AppleLimits(fixedConcurrency: settings.maxConcurrency)
        self.secrets = secrets
        self.observer = observer
        self.now = now ?? { WallClock.now }
    }

    /// Ends the requests in flight, and closes all connections. These requests and all later requests get trouble as
    /// their answer.
    public func shutdown() async {
        await connection.shutdown()
    }

    /// The permits, one for each request under way.
    public var gate: ConcurrencyGate { limits.gate }

    public func verify(_ request: VerificationRequest) async -> AppleAnswer {
        guard case .receipt(let receipt, let setting) = request.subject else { return .blocked(.noServerAPI) }
        let password = setting.flatMap(secrets).flatMap { $0.isEmpty ? nil : $0 }
        let hasSecret = password != nil || setting == nil
        let mayAsk = limits.mayAsk(
            request.bundleID, endpoint: Self.endpoint, setting: setting, hasSecret: hasSecret,
            isProven: request.isProven)
        guard mayAsk else { return .blocked(.sharedSecret) }
        let answer = await withTaskExecutorPreference(connection.executor) {
            await ask(request, receipt, password: password)
        }
        return limits.noted(answer, to: request, endpoint: Self.endpoint)
    }

    /// Makes one try, with at most one change of environment. Without that limit, two environments could send a receipt
    /// to each other for ever.
    private func ask(_ request: VerificationRequest, _ receipt: String, password: String?) async -> AppleAnswer {
        for environment in [StoreEnvironment.production, .sandbox] {
            let answer = await send(request, receipt, password: password, to: environment)
            if case .answer(let answer) = answer { return answer }
        }
        return .trouble(.init(.environmentLoop))
    }

    @inline(never)
    private func send(
        _ request: VerificationRequest, _ receipt: String, password: String?, to environment: StoreEnvironment
    ) async -> VerifyReceiptAnswer {
        let scope = AppleScope(bundleID: request.bundleID, endpoint: Self.endpoint, environment: environment)
        // The closure takes this member only, so that the waiting task keeps no second copy of the request.
        let ended = request.ended
        let answer = await limits.send(to: scope, for: AppleAsker(request)) {
            // The body is written only when the request goes. Thousands of requests may wait during an outage, and each
            // body needs as much memory as its receipt.
            let body = VerifyReceiptBody(receipt: receipt, password: password)
            let answer = await ask(body, in: environment, ended: ended)
            return (answer, AppleLimits.End(answer, now: now()))
        }
        return answer ?? .answer(.trouble(limits.notSent(to: scope, now: now())))
    }

    private func ask(
        _ body: VerifyReceiptBody, in environment: StoreEnvironment, ended: (@Sendable (AppleTry) -> Void)?
    ) async -> VerifyReceiptAnswer {
        await Suspected.work?.waits()
        let start = WallClock.monotonicSeconds
        let result = await connection.send(
            HTTPExchange(environment == .production ? production : sandbox, body: body))
        let seconds = WallClock.monotonicSeconds - start
        await Suspected.work?.works()
        return await answer(result, from: environment, after: seconds, ended)
    }

    /// Reads the response, and reports the end of the request.
    @inline(never)
    private func answer(
        _ result: Result<HTTPResponse, HTTPFailure>, from environment: StoreEnvironment, after seconds: Double,
        _ ended: (@Sendable (AppleTry) -> Void)?
    ) async -> VerifyReceiptAnswer {
        let isBrief = (try? result.get()).map { $0.body.count <= Self.briefAnswer } ?? true
        let finding =
            isBrief
            ? read(result, asked: environment)
            : await withTaskExecutorPreference(globalConcurrentExecutor) { read(result, asked: environment) }
        if !Task.isCancelled {
            observer?.reached(
                environment == .production ? productionURL : sandboxURL, noAnswer: result.noAnswer)
        }
        tell(finding, of: environment, after: seconds, to: ended)
        return finding.answer
    }

    /// Reports the end of a request. It is a separate function, so that its local variables use no memory in the tasks
    /// that wait for Apple.
    @inline(never)
    private func tell(
        _ finding: (answer: VerifyReceiptAnswer, status: Int64?), of environment: StoreEnvironment,
        after seconds: Double, to ended: (@Sendable (AppleTry) -> Void)?
    ) {
        let label = finding.answer.label
        ended?(
            AppleTry(
                at: now(), endpoint: Self.endpoint, environment: environment, result: label, status: finding.status,
                milliseconds: Int64((seconds * 1000).rounded())))
        observer?.requestEnded(
            endpoint: Self.endpoint, environment: environment, result: label, seconds: seconds)
    }

    @inline(never)
    private func read(
        _ result: Result<HTTPResponse, HTTPFailure>, asked: StoreEnvironment
    ) -> (answer: VerifyReceiptAnswer, status: Int64?) {
        switch result {
        case .failure(let failure): return (.trouble(failure.troubleKind), nil)
        case .success(let answer) where answer.status == 200:
            return VerifyReceiptAnswer.parseWithStatus(answer.body, asked: asked, cameAt: WallClock.now)
        case .success(let answer):
            // The request has no credentials in its HTTP headers. So an HTTP status other than 200 says nothing about
            // the receipt or the settings.
            let trouble = AppleAnswer.Trouble(
                answer.status == 429 ? .rateLimited : .serverError,
                retryNotBefore: answer.retryAfter.flatMap {
                    RetryAfter.parse($0, date: answer.date, now: now())
                })
            return (.answer(.trouble(trouble)), Int64(answer.status))
        }
    }
}
