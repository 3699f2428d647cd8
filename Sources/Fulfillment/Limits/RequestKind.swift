/// The kind of a request to Apple. The kinds of waiting requests take turns.
public struct RequestKind: Sendable, Hashable {
    public enum Work: Sendable, Hashable, CaseIterable {
        /// A submission waits for the answer.
        case submission
        /// A player waits for the answer, but no submission does. The request is about a due subscription or about
        /// Apple's notification history.
        case queue
        /// No player waits for the answer. receiptd sends the request when no other request may go.
        case background
    }

    public let work: Work
    /// True if neither the work nor its proof has failed before.
    public let isFirst: Bool
    /// True if Apple signed the proof for this app. receiptd's own requests count as proven.
    public let isProven: Bool

    /// Makes the kind of a request for a submission.
    public init(isFresh: Bool, isProven: Bool) {
        work = .submission
        isFirst = isFresh
        self.isProven = isProven
    }

    /// Makes the kind of a request of receiptd's own.
    public init(_ work: Work, isFirst: Bool) {
        self.work = work
        self.isFirst = isFirst
        isProven = true
    }

    /// True for the first try of a submission whose proof has not failed lately.
    public var isFresh: Bool { work == .submission && isFirst }

    /// The kinds that submissions have.
    public static let submissions = [true, false].flatMap { isFresh in
        [true, false].map { RequestKind(isFresh: isFresh, isProven: $0) }
    }

    public static let all =
        submissions
        + [Work.queue, .background].flatMap { work in
            [true, false].map { RequestKind(work, isFirst: $0) }
        }

    /// The kinds that are not fresh: retries, and receiptd's own requests.
    public static let deferrable = all.filter { !$0.isFresh }

    /// The kinds of receiptd's own requests.
    public static let own = all.filter { $0.work != .submission }

    /// The kind's place in `all`.
    var index: Int {
        switch work {
        case .submission: (isFirst ? 0 : 2) + (isProven ? 0 : 1)
        case .queue: isFirst ? 4 : 5
        case .background: isFirst ? 6 : 7
        }
    }

    /// The kind's share of turns. If all kinds of submissions wait, retries get a fifth of 25 turns, and unproven
    /// proofs get a fifth too. The kinds of `queue` get three further turns. Background requests take turns only among
    /// themselves.
    var turns: Double {
        switch (work, isFirst, isProven) {
        case (.submission, true, true): 16
        case (.submission, true, false), (.submission, false, true): 4
        case (.submission, false, false): 1
        case (.queue, true, _): 2
        case (.queue, false, _), (.background, _, _): 1
        }
    }
}
