import Fulfillment
import NamesAndTimes
import Synchronization

/// Holds each request to Apple back until the limits allow it: circuit breaker, fleet-wide budget, concurrency.
///
/// All clients of the process share one `AppleLimits`. A request that nothing holds back costs two short locks and no
/// suspension. A request waits for the database only if the replica has no lease of the budget left. A task of the
/// process runs `follow`.
public final class AppleLimits: Sendable {
    /// The seconds that a request waits for its own scope's circuit or `Retry-After` before it must leave memory. A
    /// retry waits as many seconds for its turn. While Apple as a whole is down, requests wait until Apple is back,
    /// with the exceptions in `takeImpatient`.
    static let patienceSeconds = 10.0
    /// The seconds that an unproven proof waits for its own circuit. While Apple is down, a request whose proof is
    /// known to fail waits as long, if no first try waits.
    static let shortPatienceSeconds = 1.0
    /// After an answer about a proof, Apple counts as answering for these seconds.
    static let answeringSeconds = 60.0
    /// The seconds after which a scope without a request counts as out of use.
    static let inUseSeconds = ProofCircuits.inUseSeconds
    /// The most seconds between two looks at waiting requests, so that no request waits much longer than its patience.
    static let longestSleepSeconds = 1.0

    /// The permits, one for each request under way. Their number adapts to Apple's answers.
    public let gate: ConcurrencyGate
    /// True if the only limit is the gate, with a fixed number of permits.
    let isFixed: Bool
    let perSecond: Double
    let budget: (any AppleBudget)?
    let observer: (any AppleLimitsObserver)?
    let now: @Sendable () -> Double
    let state: Mutex<State>

    struct State {
        var scopes: [AppleScope: Waiting] = [:]
        var credentials: [Credentials: CredentialsBox] = [:]
        var told = Told()
        var concurrency: AdaptiveConcurrency
        var underWay = RequestsUnderWay()
        var failedProofs = FailedProofs()
        /// The monotonic time of Apple's last answer about a proof.
        var lastAnswer = -Double.infinity
        /// The monotonic time of the next call of `makeRoom`; infinity for never.
        var gateLook = Double.infinity
        var nextTicket: UInt64 = 0
        var downSince: Double?
        var downBefore = 0.0
    }

    /// The state that the observer knows.
    struct Told {
        var openCircuits: Set<Credentials> = []
        var misconfigured: [Credentials: CredentialsFault] = [:]
        var doubted: Set<BundleID> = []
    }

    /// The state of one app's credentials. It is a class, so that it changes in place. The lock of `AppleLimits.state`
    /// guards it.
    final class CredentialsBox {
        var state = CredentialsState()
        /// The setting of the secret or the key at the last request; nil if the catalog named none.
        var setting: String?
        /// The kind of Apple's last refusal.
        var refusal = AppleAnswer.Blockage.sharedSecret
    }

    struct Credentials: Hashable {
        let bundleID: BundleID
        let endpoint: String
    }

    /// - Parameters:
    ///   - maxConcurrency: the most requests under way at once from this process.
    ///   - maxRequestsPerSecond: the most requests of all replicas for each app and endpoint in Production; 0 for no
    ///     limit. In the sandbox, a tenth of it counts.
    ///   - budget: the limits that all replicas share; nil if this is the only replica. If nil, `maxRequestsPerSecond`
    ///     has no effect.
    ///   - now: returns the seconds of a monotonic clock.
    public init(
        maxConcurrency: Int, maxRequestsPerSecond: Double = 0, budget: (any AppleBudget)? = nil,
        observer: (any AppleLimitsObserver)? = nil, now: (@Sendable () -> Double)? = nil
    ) {
        let concurrency = AdaptiveConcurrency(maximum: maxConcurrency)
        gate = ConcurrencyGate(limit: concurrency.limit)
        isFixed = false
        perSecond = budget == nil ? 0 : maxRequestsPerSecond
        self.budget = budget
        self.observer = observer
        self.now = now ?? { WallClock.monotonicSeconds }
        state = Mutex(State(concurrency: concurrency))
        observer?.concurrency(limit: concurrency.limit)
    }

    /// Limits only the number of requests under way, without circuit breaker and budget.
    /// - Parameter queued: called each time that a request has entered the queue for a permit; nil for no call.
    public init(fixedConcurrency: Int, queued: (@Sendable () -> Void)? = nil) {
        gate = ConcurrencyGate(limit: fixedConcurrency, queued: queued)
        isFixed = true
        perSecond = 0
        budget = nil
        observer = nil
        now = { WallClock.monotonicSeconds }
        state = Mutex(State(concurrency: AdaptiveConcurrency(maximum: fixedConcurrency)))
    }

    enum End {
        /// Apple gave any answer.
        case answered
        /// The request failed in a way that no receipt can cause.
        case failed
        /// The request failed, perhaps because of its receipt. A `Retry-After` in this answer holds no other request
        /// back.
        case doubtful
        /// Apple answered 429, or the request failed as in `failed` and the answer had a `Retry-After`. `seconds` is
        /// nil for a 429 without `Retry-After`.
        case limited(seconds: Double?)
        /// The end says nothing about Apple; the request was cancelled, for example.
        case unknown
    }
}
