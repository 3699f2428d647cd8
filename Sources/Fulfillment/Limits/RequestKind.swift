/// Who asks Apple, as far as it decides who goes first.
public struct RequestKind: Sendable, Hashable {
    public enum Work: Sendable, Hashable, CaseIterable {
        /// A submission waits for the answer.
        case submission
        /// What receiptd asks by itself, and a player is better off for soon: the queue of subscriptions, and Apple's
        /// notification history.
        case queue
        /// What nobody waits for: goes where nothing else wants to.
        case background
    }

    public let work: Work
    /// Neither its submission nor its proof has failed before.
    public let isFirst: Bool
    /// Its signature is Apple's, and it is this app's. What receiptd asks by itself counts as proven.
    public let isProven: Bool

    /// For a submission.
    public init(isFresh: Bool, isProven: Bool) {
        work = .submission
        isFirst = isFresh
        self.isProven = isProven
    }

    /// What receiptd asks by itself.
    public init(_ work: Work, isFirst: Bool) {
        self.work = work
        self.isFirst = isFirst
        isProven = true
    }

    /// For a submission that has not failed before.
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

    /// All but the fresh ones: what came back, and what receiptd asks by itself.
    public static let deferrable = all.filter { !$0.isFresh }

    /// What receiptd asks by itself.
    public static let own = all.filter { $0.work != .submission }

    /// Its place in `all`.
    var index: Int {
        switch work {
        case .submission: (isFirst ? 0 : 2) + (isProven ? 0 : 1)
        case .queue: isFirst ? 4 : 5
        case .background: isFirst ? 6 : 7
        }
    }

    /// Of 25 turns where all kinds of submissions wait a fifth is for what failed before, and a fifth for what is not proven.
    /// With the queue's it is three more. What is in the background has turns only among itself.
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
