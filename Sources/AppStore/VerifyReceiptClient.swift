import Fulfillment
import NIOCore

/// Asks Apple's `verifyReceipt`: production first, and the sandbox where production sends the receipt there.
///
/// Tries in flight never exceed the gate's limit; one that waits longer holds no connection. Call `shutdown()` before
/// the last reference goes.
public final class VerifyReceiptClient: ReceiptVerifier {
    public static let endpoint = "verifyReceipt"

    /// One permit for each try. Its limit may be lowered and raised again, up to the settings' `maxConcurrency`.
    public let gate: ConcurrencyGate
    private let connection: AppleConnection
    private let secrets: @Sendable (String) -> String?
    private let observer: (any AppleObserver)?
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - secrets: the shared secret that a setting holds, by the setting's name.
    ///   - now: for `Retry-After`; the wall clock where nil.
    public init(
        settings: AppleSettings, secrets: @escaping @Sendable (String) -> String?,
        observer: (any AppleObserver)? = nil, now: (@Sendable () -> Timestamp)? = nil
    ) throws(AppleSettingsFault) {
        connection = try AppleConnection(settings)
        gate = ConcurrencyGate(limit: settings.maxConcurrency)
        self.secrets = secrets
        self.observer = observer
        self.now = now ?? WallClock.now
    }

    /// Ends what is in flight as trouble and closes all connections. Later tries are trouble.
    public func shutdown() async {
        await connection.shutdown()
    }

    public func verify(_ request: VerificationRequest) async -> AppleAnswer {
        var password: String?
        if let setting = request.sharedSecretSetting {
            guard let secret = secrets(setting), !secret.isEmpty else { return .blocked(.sharedSecret) }
            password = secret
        }
        return await gate.withPermit { await ask(request, password: password) } ?? .trouble(.init(.connection))
    }

    /// One try: at most one change of environment, for two that send to each other would never end.
    private func ask(_ request: VerificationRequest, password: String?) async -> AppleAnswer {
        let body = VerifyReceiptBody.make(
            receipt: request.receipt, password: password, allocator: ByteBufferAllocator())
        for environment in [StoreEnvironment.production, .sandbox] {
            if case .answer(let answer) = await ask(body, in: environment) { return answer }
        }
        return .trouble(.init(.environmentLoop))
    }

    private func ask(_ body: ByteBuffer, in environment: StoreEnvironment) async -> VerifyReceiptAnswer {
        let start = ContinuousClock.now
        let result = await connection.post(body, to: environment)
        let elapsed = ContinuousClock.now - start
        let answer = read(result, asked: environment)
        observer?.requestEnded(
            endpoint: Self.endpoint, environment: environment, result: answer.label, seconds: elapsed / .seconds(1))
        return answer
    }

    private func read(
        _ result: Result<HTTPAnswer, HTTPFailure>, asked: StoreEnvironment
    ) -> VerifyReceiptAnswer {
        switch result {
        case .failure(let failure): .trouble(failure.troubleKind)
        case .success(let answer) where answer.status == 200: .parse(answer.body, asked: asked)
        case .success(let answer):
            // No credentials go with a request, so that no status but 200 says anything of the receipt or the settings.
            .answer(
                .trouble(
                    .init(
                        answer.status == 429 ? .rateLimited : .serverError,
                        retryNotBefore: answer.retryAfter.flatMap {
                            RetryAfter.parse($0, date: answer.date, now: now())
                        })))
        }
    }
}
