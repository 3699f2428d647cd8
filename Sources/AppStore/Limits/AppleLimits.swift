import Fulfillment
import NamesAndTimes
import Synchronization

/// Holds a request to Apple until it may be sent: circuit breaker, fleet-wide budget, concurrency.
///
/// The process has one, which all its clients share. A request that nothing holds back costs two short locks and no
/// suspension. No request waits for the database while its replica holds a lease on the budget. Run `follow` beside it.
public final class AppleLimits: Sendable {
    /// The seconds that a request waits for its own app's circuit or `Retry-After` before it must come again. A retry
    /// waits as long for its turn. While Apple as a whole is down, requests wait until Apple is back. `takeImpatient`
    /// names the exceptions: leased work and proofs that are known to fail.
    static let patienceSeconds = 10.0
    /// The shorter patience, in seconds, of an unproven proof in front of its own circuit, and of a proof that is known
    /// to fail.
    static let shortPatienceSeconds = 1.0
    /// The seconds after Apple's last answer to any request in which Apple counts as answering.
    static let answeringSeconds = 60.0
    /// The seconds without a request after which an app's endpoint counts as out of use.
    static let inUseSeconds = ProofCircuits.inUseSeconds
    /// The longest sleep of a waiting request in seconds, so that it never misses the end of its wait by much.
    static let longestSleepSeconds = 1.0

    /// The permits, one for each request. The limit adapts to Apple's answers.
    public let gate: ConcurrencyGate
    /// True if these limits are only the gate, with a fixed limit.
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
        /// The monotonic time of the last answer to any request.
        var lastAnswer = -Double.infinity
        /// The monotonic time of the gate's next look; infinity for never.
        var gateLook = Double.infinity
        var nextTicket: UInt64 = 0
        var downSince: Double?
        var downBefore = 0.0
    }

    /// The state that the observer last saw.
    struct Told {
        var openCircuits: Set<Credentials> = []
        var misconfigured: [Credentials: CredentialsFault] = [:]
        var doubted: Set<BundleID> = []
    }

    /// The state of one app's credentials. It is a class, so that it changes in place. The lock around
    /// `AppleLimits.state` guards it.
    final class CredentialsBox {
        var state = CredentialsState()
        /// The setting that should have held the secret at the last question; nil if the catalog named none.
        var setting: String?
        /// The last refusal.
        var refusal = AppleAnswer.Blockage.sharedSecret
    }

    struct Credentials: Hashable {
        let bundleID: BundleID
        let endpoint: String
    }

    /// - Parameters:
    ///   - maxConcurrency: the most requests under way at once from this process.
    ///   - maxRequestsPerSecond: the most requests of all replicas for each app and endpoint; a tenth for the sandbox;
    ///     0 for no limit.
    ///   - budget: the limits that all replicas share. Nil: this is the only replica, and `maxRequestsPerSecond` has no
    ///     effect.
    ///   - now: returns seconds of a clock that only grows.
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

    /// Makes limits that only cap the concurrency, without circuit breaker and retries.
    /// - Parameter queued: called each time that a request has entered the queue for a permit; nil if nobody asks.
    public init(fixedConcurrency: Int, queued: (@Sendable () -> Void)? = nil) {
        gate = ConcurrencyGate(limit: fixedConcurrency, queued: queued)
        isFixed = true
        perSecond = 0
        budget = nil
        observer = nil
        now = { WallClock.monotonicSeconds }
        state = Mutex(State(concurrency: AdaptiveConcurrency(maximum: fixedConcurrency)))
    }

    /// The end of a request, as the limits see it.
    enum End {
        /// Apple answered, whatever it said.
        case answered
        /// The request failed, and no receipt causes such a failure.
        case failed
        /// The request failed, and a receipt may have caused that. A `Retry-After` here holds no other request back.
        case doubtful
        /// Apple answered with 429, or the request failed as in `failed` and the answer had a `Retry-After`. `seconds`
        /// is nil if a 429 had none.
        case limited(seconds: Double?)
        /// The end says nothing about Apple, as the end of a cancelled request.
        case unknown
    }
}
