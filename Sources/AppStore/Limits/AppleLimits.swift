import Fulfillment
import NamesAndTimes
import Synchronization

/// Everything that a request to Apple passes before it is sent: circuit breaker, fleet-wide budget, concurrency.
///
/// One for the process and all clients. Where nothing holds a request back it costs two short locks and no suspension; no
/// request waits for the database while its replica holds a lease. Run `follow` beside it.
public final class AppleLimits: Sendable {
    /// Seconds that a request waits for its own app's circuit or `Retry-After`, or for its turn where it failed before, until
    /// it is told to come again. While Apple as a whole is down it waits for as long as that lasts.
    static let patienceSeconds = 10.0
    /// The same for what is not proven, in front of its own circuit.
    static let unprovenPatienceSeconds = 1.0
    /// Apple answers others where it has answered anybody within so many seconds.
    static let answeringSeconds = 60.0
    /// An app and endpoint that nobody asked for this long is not in use.
    static let inUseSeconds = ProofCircuits.inUseSeconds
    /// The hold after a 429 that names no time. Seconds.
    static let defaultHoldSeconds = 1.0
    /// The seconds between two looks at other replicas' holds, also while this one has asked nothing for
    /// `inUseSeconds`.
    static let pollSeconds = 0.5
    static let idlePollSeconds = 1.0
    /// Nobody sleeps for longer, so that an end of waiting is never missed by much.
    static let longestSleepSeconds = 1.0

    /// One permit for each request. Its limit is adapted.
    public let gate: ConcurrencyGate
    /// Nothing but the gate, and that as it is.
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
        /// The time of the last answer to any request.
        var lastAnswer = -Double.infinity
        /// The time of the gate's next look, infinity for never.
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

    /// Changes in place; guarded by the lock around it.
    final class CredentialsBox {
        var state = CredentialsState()
        /// The setting that should have held the secret when Apple was last to be asked.
        var setting: String?
        /// The last one.
        var refusal = AppleAnswer.Blockage.sharedSecret
    }

    struct Credentials: Hashable {
        let bundleID: BundleID
        let endpoint: String
    }

    /// - Parameters:
    ///   - maxConcurrency: requests under way at once, from this process.
    ///   - maxRequestsPerSecond: of all replicas for each app and endpoint; a tenth for the sandbox; 0 is no limit.
    ///   - budget: what all replicas share. Nil: there is only this one, and `maxRequestsPerSecond` has no effect.
    ///   - now: seconds of a clock that only grows.
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

    /// No circuit breaker or retries: only a concurrency cap.
    public init(fixedConcurrency: Int) {
        gate = ConcurrencyGate(limit: fixedConcurrency)
        isFixed = true
        perSecond = 0
        budget = nil
        observer = nil
        now = { WallClock.monotonicSeconds }
        state = Mutex(State(concurrency: AdaptiveConcurrency(maximum: fixedConcurrency)))
    }

    /// The end of a request, for the limits.
    enum End {
        /// Apple answered, whatever it said.
        case answered
        /// A failure that no receipt brings about.
        case failed
        /// A failure that a receipt may have brought about.
        case doubtful
        /// Apple answered with 429 or `Retry-After`.
        case limited(seconds: Double?)
        /// The end says nothing of Apple, such as a cancelled request.
        case unknown
    }
}
