import Fulfillment
import Synchronization

/// All replicas follow Apple's `Retry-After` in these steps.
///
/// - **Reading**: `VerifyReceiptClient` and `ServerAPIClient` read the header with `RetryAfter`, which accepts at most
///   an hour. An answer is `End.limited` if it is a 429, or if it has the header and is a server error or no JSON. Then
///   a hold of the scope begins: a time in which no replica sends a request to the scope.
/// - **This replica**: `ScopeLimits` shuts the scope, which is one app, endpoint and environment. The worker sends
///   nothing to the scope until the hold ends. The circuit counts no failure. If requests about submissions' proofs use
///   the scope, the worker also lowers its limit of concurrent requests.
/// - **Other replicas**: `share` writes the hold's end to PostgreSQL, in one row for each scope. In every replica
///   `follow` reads these rows once or twice a second, and shuts the scopes.
/// - **How long**: until the time in the header. A 429 without the header causes a hold of `defaultHoldSeconds`. If a
///   scope has two holds, the later end counts.
/// - **Waiting requests**: a request leaves the queue after `patienceSeconds` (10 s), and `notSent` gives it the hold's
///   end. While Apple as a whole is down, only leased work and proofs that are known to fail leave the queue.
/// - **The submission**: `ParkingPolicy` keeps the submission in memory or parks it. In both cases the next try comes
///   after the time in the header.
/// - **Other work**: for finishes and refund requests, `RetryDelay.afterTry` also waits for the time in the header. For
///   checks of subscriptions, `SubscriptionQuestion.delay` waits for the time in the header and a random time more. For
///   held purchases, `HeldPurchaseWorker.retrySeconds` ignores the header: only the shut scope holds an early request
///   back.
extension AppleLimits {
    /// The seconds of a hold after a 429 without `Retry-After`.
    static let defaultHoldSeconds = 1.0
    /// The seconds between two reads of the other replicas' holds.
    static let pollSeconds = 0.5
    /// The seconds between two reads of the other replicas' holds, if this replica has sent no request for
    /// `inUseSeconds`.
    static let idlePollSeconds = 1.0

    // MARK: This replica

    /// Shuts the scope after an answer that is `End.limited`. The caller has locked `state`.
    /// - Parameters:
    ///   - seconds: the seconds in `Retry-After`; nil if there was none.
    ///   - pass: the pass of the request that Apple limited.
    /// - Returns: the seconds of a hold that the other replicas do not know yet; nil if there is none.
    func hold(
        _ waiting: Waiting, forSeconds seconds: Double?, after pass: ScopeLimits.Pass, now: Double
    ) -> Double? {
        waiting.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1))
        let hold = max(0, seconds ?? Self.defaultHoldSeconds)
        return hold > 0 && waiting.limits.hold(until: now + hold) ? hold : nil
    }

    /// Returns the seconds until the scope's hold ends; nil if there is no hold.
    func heldSeconds(_ scope: AppleScope) -> Double? {
        let now = now()
        let until = state.withLock { $0.scopes[scope]?.limits.heldUntil } ?? -.infinity
        return until > now ? until - now : nil
    }

    // MARK: Other replicas

    /// Stores a hold for the other replicas, and tries again a few times if the database does not answer.
    func share(hold seconds: Double, of scope: AppleScope) {
        observer?.held(scope, seconds: seconds)
        guard let budget else { return }
        let began = now()
        Task {
            for pause in [0.2, 1, 5] {
                do {
                    let left = seconds - (now() - began)
                    if left > 0 { try await budget.hold(scope, seconds: left) }
                    return
                } catch {
                    observer?.budgetFailed(error)
                    guard (try? await Task.sleep(for: .seconds(pause))) != nil else { return }
                }
            }
        }
    }

    private var isInUse: Bool {
        let now = now()
        return state.withLock { state in
            state.scopes.values.contains { !$0.isEmpty || now - $0.lastUse < Self.inUseSeconds }
        }
    }

    /// Applies the holds of other replicas until the task is cancelled.
    public func follow() async {
        guard let budget else { return }
        while !Task.isCancelled {
            do {
                let holds = try await budget.holds()
                observer?.budgetAnswered()
                let now = now()
                for (scope, seconds) in holds {
                    let isNews = state.withLock { state in
                        // The scope may be new: this replica may not have sent a request to it yet.
                        prepare(scope, &state)
                        return state.scopes[scope]?.limits.hold(until: now + seconds) ?? false
                    }
                    guard isNews else { continue }
                    if scope.isOfProofs {
                        state.withLock { state in
                            state.concurrency.calm()
                            gate.adjust(limit: state.concurrency.limit)
                        }
                    }
                    look(at: scope)
                }
            } catch {
                observer?.budgetFailed(error)
            }
            let seconds = isInUse ? Self.pollSeconds : Self.idlePollSeconds
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
        }
    }
}
